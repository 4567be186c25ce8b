/** Hooks of every request: its id, its caller, the rate limit, and its duration for metrics. */
import { type Verb, VERBS } from "@tenure/api";
import type { Clock } from "@tenure/core";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Credentials } from "../auth/authenticator.js";
import type { Caller } from "../auth/caller.js";
import { verifiedCertificate } from "../auth/client-certificate.js";
import type { Admitted } from "../limits/admission.js";
import { ServiceError } from "../service-error.js";
import { addAnswerHeaders } from "./answer-headers.js";
import type { AppDeps } from "./app.js";
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

export function addRequestHooks(app: FastifyInstance, deps: AppDeps): void {
  const { admission, openRequests, hostRule, tls, metrics, activity, log, stopping, clock } = deps;

  app.decorateRequest("caller");
  app.decorateRequest("charge");

  app.addHook("onRequest", (request, reply, done) => {
    addAnswerHeaders(reply, request.id);
    const foreign = foreignRequest(request.raw, hostRule, tls !== null);
    if (foreign !== null) return done(foreign);
    // On a connection that was open already.
    if (stopping.aborted) return done(stoppingError());
    // Such a route tells by itself who asks.
    if (request.routeOptions.config.ownIdentity === true) return done();
    const path = request.routeOptions.url ?? "";
    try {
      const what = PROBES.has(path) ? "probes from" : OPEN_PATHS.has(path) ? "pages for" : null;
      if (what !== null) {
        admission.admitAnybody(what, request.ip);
        return done();
      }
      const credentials = credentialsOf(request);
      const keep = ({ caller, charge }: Admitted) => {
        request.caller = caller;
        request.charge = charge;
        // Hung up while the signature was verified: its response has closed already.
        if (request.raw.socket.destroyed) return;
        const answered = openRequests.add(caller, credentials, () => request.raw.socket.destroy());
        if (answered !== null) reply.raw.once("close", answered);
      };
      const admitted = admission.admit(credentials, request.ip);
      if (!(admitted instanceof Promise)) {
        keep(admitted);
        return done();
      }
      admitted.then(keep).then(
        () => done(),
        (error: unknown) => refuse(error as Error, clock, done),
      );
    } catch (error) {
      refuse(error as Error, clock, done);
    }
  });

  app.addHook("onResponse", (request, reply, done) => {
    const route = request.routeOptions.url ?? "none";
    const { method, id } = request;
    const { statusCode: status, elapsedTime: ms } = reply;
    metrics.observeRequest(route, method, status, ms);
    activity.answered(route, ms);
    if (log.isLevelEnabled("debug")) log.debug({ req_id: id, method, route, status, ms }, "answered");
    done();
  });
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
