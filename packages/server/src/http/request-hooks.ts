/** Hooks of every request: its headers, its caller, the rate limit, and who observes its response. */
import { type Verb, VERBS } from "@tenure/api";
import type { Clock } from "@tenure/core";
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  RouteOptions,
} from "fastify";
import type { Credentials } from "../auth/authenticator.js";
import type { Caller } from "../auth/caller.js";
import { verifiedCertificate } from "../auth/client-certificate.js";
import type { Admitted } from "../limits/admission.js";
import { ServiceError } from "../service-error.js";
import { addAnswerHeaders } from "./answer-headers.js";
import type { AppDeps } from "./app.js";
import { type FollowedResponse, followResponses, type RouteObserver } from "./followed-response.js";
import { foreignRequest } from "./foreign-requests.js";

/** Probes have a rate limit of their own: a client that loads many pages must not make a load balancer believe that the service is down. */
const PROBES: ReadonlySet<string> = new Set([VERBS.alive.path, VERBS.ping.path]);

/** Paths without authentication, because they show nothing about groups: the page, and the open verbs. */
const OPEN_PATHS: ReadonlySet<string> = new Set([
  "/",
  "/assets/:file",
  ...Object.values<Verb>(VERBS).flatMap(({ access, path }) => (access === "open" ? [path] : [])),
]);

/**
 * How long a refusal by the rate limit is held back. A client that asks again at once, on each of its connections, would else cost
 * the service more by its refusals than by what it is granted.
 */
const RATE_LIMITED_PAUSE_MS = 100;

declare module "fastify" {
  interface FastifyContextConfig {
    readonly ownIdentity?: boolean;
  }
  interface FastifyRequest {
    /** Set before any handler of a route that needs to know. */
    caller: Caller;
    /** Takes what the request costs beyond one request, from the rate limit of the caller. */
    charge: (cost: number) => void;
  }
}

/**
 * Gives each route its hooks when it is made, so that what depends on the route alone is not asked again for each request. Unknown
 * paths have no route; the hooks of the whole server handle them.
 */
export function addRequestHooks(app: FastifyInstance, deps: AppDeps): void {
  app.decorateRequest("caller");
  app.decorateRequest("charge");

  app.addHook("onRoute", (route) => {
    const observer = observerOf(route.url, deps);
    route.onRequest = [admitting(route, observer, deps), ...listOf(route.onRequest)];
  });
  const unrouted = observerOf("none", deps);
  followResponses(app.server, deps.inFlight, unrouted);
  const admitUnknown = admitting({ url: "" }, unrouted, deps);
  app.addHook("onRequest", function (request, reply, done) {
    if (request.is404) admitUnknown.call(this, request, reply, done);
    else done();
  });
}

/** Answers with the headers of the service, and admits the request or refuses it. */
function admitting(
  { url, config }: Pick<RouteOptions, "url" | "config">,
  observer: RouteObserver,
  { admission, openRequests, hostRule, tls, stopping, clock }: AppDeps,
): onRequestHookHandler {
  const isTls = tls !== null;
  const what = PROBES.has(url) ? "probes from" : OPEN_PATHS.has(url) ? "pages for" : null;
  const keep = (
    { caller, charge }: Admitted,
    credentials: Credentials,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void => {
    request.caller = caller;
    request.charge = charge;
    const { socket } = request.raw;
    // Hung up while the signature was verified: its response has closed already.
    if (socket.destroyed) return;
    const answered = openRequests.add(caller, credentials, () => socket.destroy());
    if (answered !== null) reply.raw.once("close", answered);
  };
  return (request, reply, done) => {
    const response = reply.raw as FollowedResponse;
    response.observer = observer;
    response.requestId = request.id;
    addAnswerHeaders(reply, request.id);
    const foreign = foreignRequest(request.raw, hostRule, isTls);
    if (foreign !== null) return done(foreign);
    // On a connection that was open already.
    if (stopping.aborted) return done(stoppingError());
    // Such a route tells by itself who asks.
    if (config?.ownIdentity === true) return done();
    try {
      if (what !== null) {
        admission.admitAnybody(what, request.ip);
        return done();
      }
      const credentials = credentialsOf(request);
      const admitted = admission.admit(credentials, request.ip);
      if (!(admitted instanceof Promise)) {
        keep(admitted, credentials, request, reply);
        return done();
      }
      admitted
        .then((each) => keep(each, credentials, request, reply))
        .then(
          () => done(),
          (error: unknown) => refuse(error as Error, clock, done),
        );
    } catch (error) {
      refuse(error as Error, clock, done);
    }
  };
}

/** Observes the duration of each request for metrics, samples and the log. */
function observerOf(route: string, { metrics, activity, log }: AppDeps): RouteObserver {
  const observe = metrics.requestsOf(route);
  const sample = activity.requestsOf(route);
  return ({ req, statusCode: status, requestId }, ms) => {
    const { method = "" } = req;
    observe(method, status, ms);
    sample(ms);
    if (log.isLevelEnabled("debug")) log.debug({ req_id: requestId, method, route, status, ms }, "answered");
  };
}

function listOf<H>(hooks: H | H[] | undefined): H[] {
  return hooks === undefined ? [] : Array.isArray(hooks) ? hooks : [hooks];
}

function refuse(error: Error, clock: Clock, done: (error: Error) => void): void {
  const isRateLimited = error instanceof ServiceError && error.code === "RATE_LIMITED";
  if (isRateLimited) clock.after(RATE_LIMITED_PAUSE_MS, () => done(error));
  else done(error);
}

function stoppingError(): ServiceError {
  return new ServiceError("BACKEND_UNAVAILABLE", "this server is stopping; use another server");
}

function credentialsOf(request: FastifyRequest): Credentials {
  return {
    authorization: request.headers.authorization,
    certificate: verifiedCertificate(request.raw.socket),
    connection: request.raw.socket,
    origin: { transport: "http", remoteAddress: request.ip, requestId: request.id },
  };
}
