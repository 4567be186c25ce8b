/**
 * Requests that only the leader can serve, at any node: the leader handles them, the other nodes forward or redirect
 * them. For node:http, for frameworks with `(req, res, next)`, and for Fastify. Put it before anything that reads
 * bodies.
 *
 * A request is forwarded at most once: nodes that take each other for the leader answer 503 instead of looping. A node
 * that begins to handle a request as leader may lose the leadership before the work is done; use the term to fence it.
 */
import type { Agent, IncomingMessage, ServerResponse } from "node:http";
import { type Clock, InvalidRequestError, systemClock } from "@tenure/core";
import { checkId, checkInteger, checkKeys, isObject } from "@tenure/core/internal";
import { type Logger, SILENT } from "../election/telemetry.js";
import { offStack } from "../election/user-code.js";
import { type ForwardFailure, forwardRequest, hasBody } from "./forward-request.js";
import { LeaderRoute, type Route } from "./leader-route.js";
import type { ObservedLeader } from "./observed.js";

/** Options of `nodeToLeader`, `expressToLeader` and `fastifyToLeader`. */
export interface ToLeaderOptions {
  /** An `Observer` of the group. */
  readonly observer: { leader(): ObservedLeader | null };
  /** The id of this node, so that it does not forward to itself. @defaultValue none, for a node that never leads */
  readonly nodeId?: string | undefined;
  /** Whether this node leads; best `() => election.isLeader()`. @defaultValue what the observer shows */
  readonly isLeader?: (() => boolean) | undefined;
  /**
   * `forward`: forward requests to the leader. `redirect`: answer 307; the sender must be able to reach the leader.
   *
   * @defaultValue `forward`
   */
  readonly mode?: "forward" | "redirect" | undefined;
  /**
   * The HTTP agent for connections to the leader: certificates, keep-alive.
   *
   * @defaultValue a new connection for each request
   */
  readonly agent?: Agent | undefined;
  /** Time limit for a connection to the leader, in milliseconds; then the request is answered 503. @defaultValue 2000 */
  readonly connectTimeoutMs?: number | undefined;
  /**
   * Time limit from the end of the request to the beginning of the answer, in milliseconds; then the request is answered
   * 504, although the leader may have carried it out. It must be longer than the leader's slowest handler.
   *
   * @defaultValue 30,000
   */
  readonly responseTimeoutMs?: number | undefined;
  /** Where failures to reach the leader are logged. @defaultValue none */
  readonly logger?: Logger | undefined;
  /** The source of time, for tests. @defaultValue `systemClock` */
  readonly clock?: Clock | undefined;
}

/** The header that names the node that forwarded a request. */
export const FORWARDED_HEADER = "Tenure-Forwarded-By";

const KNOWN: readonly (keyof ToLeaderOptions)[] = [
  "observer",
  "nodeId",
  "isLeader",
  "mode",
  "agent",
  "connectTimeoutMs",
  "responseTimeoutMs",
  "logger",
  "clock",
];
const MAX_MS = 3_600_000;

/** `if (!(await toLeader(req, res))) return;`: true means that this node leads and must handle the request. */
export function nodeToLeader(
  options: ToLeaderOptions,
): (request: IncomingMessage, response: ServerResponse) => Promise<boolean> {
  const handler = new ToLeader(options);
  return async (request, response) => {
    const route = handler.route(request);
    if (route.kind === "local") return true;
    await handler.answer(route, request, response);
    return false;
  };
}

/** `app.use("/jobs", expressToLeader({ … }))`. */
export function expressToLeader(
  options: ToLeaderOptions,
): (
  request: IncomingMessage & { readonly originalUrl?: string },
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void {
  const handler = new ToLeader(options);
  return (request, response, next) => {
    // Below a mount path, Express removes that path from `url`.
    const route = handler.route(request, request.originalUrl);
    if (route.kind === "local") return next();
    void handler.answer(route, request, response).catch(next);
  };
}

/** `app.addHook("onRequest", fastifyToLeader({ … }))` for all routes of a plugin, or `onRequest` of one route. */
export function fastifyToLeader(
  options: ToLeaderOptions,
): (
  request: { readonly raw: IncomingMessage },
  reply: { readonly raw: ServerResponse; hijack(): unknown },
) => Promise<void> {
  const handler = new ToLeader(options);
  return async (request, reply) => {
    const route = handler.route(request.raw);
    if (route.kind === "local") return;
    reply.hijack();
    await handler.answer(route, request.raw, reply.raw);
  };
}

class ToLeader {
  readonly #route: LeaderRoute;
  readonly #nodeId: string;
  readonly #logger: Logger;
  readonly #limits: {
    readonly agent: Agent | false;
    readonly clock: Clock;
    readonly connectTimeoutMs: number;
    readonly responseTimeoutMs: number;
  };

  constructor(given: ToLeaderOptions) {
    if (!isObject(given)) throw new InvalidRequestError("options", "must be an object");
    checkKeys(given, "", KNOWN);
    const { observer, nodeId, isLeader, mode = "forward" } = given;
    if (typeof observer?.leader !== "function") {
      throw new InvalidRequestError("observer", "must be an Observer");
    }
    if (nodeId !== undefined) checkId(nodeId, "nodeId");
    if (isLeader !== undefined && typeof isLeader !== "function") {
      throw new InvalidRequestError("isLeader", "must be a function");
    }
    if (mode !== "forward" && mode !== "redirect") {
      throw new InvalidRequestError("mode", "must be forward or redirect");
    }
    this.#route = new LeaderRoute({ observer, nodeId, isLeader, mode });
    this.#nodeId = nodeId ?? "-";
    this.#logger = offStack(given.logger ?? SILENT, () => {});
    this.#limits = {
      agent: given.agent ?? false,
      clock: given.clock ?? systemClock,
      connectTimeoutMs: checkInteger(given.connectTimeoutMs ?? 2000, "connectTimeoutMs", 1, MAX_MS),
      responseTimeoutMs: checkInteger(given.responseTimeoutMs ?? 30_000, "responseTimeoutMs", 1, MAX_MS),
    };
  }

  route(request: IncomingMessage, url: string = request.url ?? "/"): Route {
    const route = this.#route.of(url, request.headers[FORWARDED_HEADER.toLowerCase()] !== undefined);
    if (route.kind === "forward" && hasBody(request) && request.readableDidRead) {
      throw new InvalidRequestError(
        "request",
        "has been read already; install this handler before any body parser",
      );
    }
    return route;
  }

  async answer(
    route: Exclude<Route, { kind: "local" }>,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    switch (route.kind) {
      case "nowhere":
        return refuse(response, 503, "NO_LEADER", route.problem);
      case "redirect":
        response.writeHead(307, {
          location: route.location,
          "cache-control": "no-store",
          "content-length": 0,
        });
        response.end();
        return;
      case "forward": {
        const { base, path, leaderId } = route;
        const mark = [FORWARDED_HEADER, this.#nodeId] as const;
        const failure = await forwardRequest(request, response, { ...this.#limits, base, path, mark });
        if (failure === null) return;
        this.#logger.warn(
          { leader: leaderId, err: failure.cause },
          "forwarding a request to the leader failed",
        );
        refuse(response, ...REFUSALS[failure.kind]);
      }
    }
  }
}

const REFUSALS: Readonly<
  Record<ForwardFailure["kind"], readonly [status: number, code: string, message: string]>
> = {
  unreachable: [503, "LEADER_UNREACHABLE", "the leader cannot be reached; nothing was sent, so retry"],
  silent: [504, "LEADER_SILENT", "the leader did not answer in time; the request may have been carried out"],
  broken: [502, "LEADER_BROKE_OFF", "the leader broke off; the request may have been carried out"],
};

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  const text = JSON.stringify({ ok: false, error: code, message });
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    // Only a request of which nothing was done may be repeated without checking.
    ...(status === 503 ? { "retry-after": "1" } : {}),
  });
  response.end(text);
}
