/** The HTTP face: Fastify with the routes, and what every request goes through. */
import type { TLSSocket } from "node:tls";
import { randomUUID } from "node:crypto";
import type { SecureContextOptions } from "node:tls";
import swagger from "@fastify/swagger";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { Clock } from "@tenure/core";
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
} from "fastify";
import type { Logger } from "pino";
import type { Authenticator } from "../auth/authenticator.js";
import type { Caller } from "../auth/caller.js";
import type { ElectionService } from "../election-service.js";
import type { RateLimiter } from "../limits/rate-limiter.js";
import type { ServiceMetrics } from "../metrics/service-metrics.js";
import { electionRoutes } from "./election-routes.js";
import { handleError, handleNotFound } from "./errors.js";
import { groupRoutes } from "./group-routes.js";
import { operationsRoutes } from "./operations-routes.js";
import { watchRoutes } from "./watch-routes.js";

export interface AppParts {
  readonly service: ElectionService;
  readonly authenticator: Authenticator;
  readonly limiter: RateLimiter | null;
  readonly metrics: ServiceMetrics;
  readonly clock: Clock;
  readonly log: Logger;
  readonly tls: SecureContextOptions | null;
  /** Whether the store answers. */
  readonly isReady: () => Promise<boolean>;
  /** Aborted when the server begins to stop. */
  readonly stopping: AbortSignal;
}

declare module "fastify" {
  interface FastifyRequest {
    /** Set before any handler of a route that needs to know. */
    caller: Caller;
  }
}

export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

const BODY_BYTES = 64 * 1024;
/** A caller's own id is kept if it is short and plain: it ends in logs. */
const REQUEST_ID = /^[A-Za-z0-9._:-]{1,100}$/;

/** Paths that tell nothing of any group, so anyone may ask. */
const OPEN_PATHS = new Set(["/healthz", "/readyz", "/openapi.json", "/docs", "/v1/keys"]);

export async function buildApp(parts: AppParts): Promise<FastifyInstance> {
  const { authenticator, limiter, metrics, log, tls } = parts;
  const app = Fastify({
    loggerInstance: log as FastifyBaseLogger,
    disableRequestLogging: true,
    bodyLimit: BODY_BYTES,
    genReqId: ({ headers }) => {
      const given = headers["x-request-id"];
      return typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID();
    },
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } },
    forceCloseConnections: "idle",
    ...(tls === null ? {} : { https: tls as object }),
  });
  app.decorateRequest("caller");
  app.setErrorHandler(handleError);
  app.setNotFoundHandler(handleNotFound);

  app.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", request.id);
    if (OPEN_PATHS.has(request.routeOptions.url ?? "")) return done();
    const admit = (caller: Caller) => {
      request.caller = caller;
      limiter?.admit(caller.name);
    };
    try {
      const found = authenticator.authenticate(credentialsOf(request));
      if (!(found instanceof Promise)) {
        admit(found);
        return done();
      }
      found.then(admit).then(() => done(), done);
    } catch (error) {
      done(error as Error);
    }
  });
  app.addHook("onResponse", (request, reply, done) => {
    const route = request.routeOptions.url ?? "none";
    metrics.observeRequest(route, request.method, reply.statusCode, reply.elapsedTime);
    if (log.isLevelEnabled("debug")) {
      log.debug(
        {
          req_id: request.id,
          method: request.method,
          route,
          status: reply.statusCode,
          ms: reply.elapsedTime,
        },
        "answered",
      );
    }
    done();
  });

  await app.register(swagger, { openapi: DOCUMENT, hideUntagged: true });
  app.register(async (scope) => {
    const typed = scope.withTypeProvider<TypeBoxTypeProvider>();
    electionRoutes(typed, parts);
    watchRoutes(typed, parts);
    groupRoutes(typed, parts);
    operationsRoutes(typed, parts);
  });
  return app;
}

const DOCUMENT = {
  openapi: "3.0.3",
  info: {
    title: "Tenure",
    version: "1",
    description: "Leader election with leases and terms that only rise.",
    license: { name: "Apache-2.0" },
  },
  tags: [
    { name: "elections", description: "Taking part, and looking who leads." },
    { name: "groups", description: "What operators do." },
    { name: "operations", description: "Whether the service is well." },
  ],
};

function credentialsOf(request: FastifyRequest): Parameters<Authenticator["authenticate"]>[0] {
  const socket = request.raw.socket as TLSSocket;
  return {
    authorization: request.headers.authorization,
    certificate: socket.authorized === true ? socket.getPeerCertificate() : undefined,
  };
}
