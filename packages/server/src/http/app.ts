/** The HTTP face: Fastify with the routes. */
import { randomUUID } from "node:crypto";
import type { TlsOptions } from "node:tls";
import swagger from "@fastify/swagger";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { Clock } from "@tenure/core";
import { LIMITS } from "@tenure/core/internal";
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  LogController,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
} from "fastify";
import type { Logger } from "pino";
import type { ElectionService } from "../election-service.js";
import type { OpenRequests } from "../auth/open-requests.js";
import type { Admission } from "../limits/admission.js";
import type { ConnectionLimit } from "../limits/connection-limit.js";
import type { ConnectionLimits } from "../limits/connection-limits.js";
import type { ServiceMetrics } from "../metrics/service-metrics.js";
import { traceRequests } from "../metrics/tracing.js";
import { API_DOCUMENT, completeDocument } from "./api-document.js";
import { guardConnections } from "./connections.js";
import { clientErrorHandler, handleError, handleFrameworkError, handleNotFound } from "./errors.js";
import type { HostRule } from "./foreign-requests.js";
import { takeJsonBodies } from "./json-body.js";
import { operationsRoutes } from "./operations-routes.js";
import { pageRoutes } from "./page-routes.js";
import { addRequestHooks } from "./request-hooks.js";
import { verbRoutes } from "./verb-routes.js";
import { watchRoutes } from "./watch-routes.js";

export interface AppDeps {
  readonly service: ElectionService;
  readonly admission: Admission;
  readonly openRequests: OpenRequests;
  readonly metrics: ServiceMetrics;
  readonly clock: Clock;
  readonly log: Logger;
  readonly tls: TlsOptions | null;
  readonly connections: ConnectionLimit;
  readonly connectionLimits: ConnectionLimits;
  readonly hostRule: HostRule;
  /** Whether the store answers. */
  readonly isReady: () => Promise<boolean>;
  /** Aborted when the server begins to stop. */
  readonly stopping: AbortSignal;
  readonly extend?: ((app: FastifyInstance) => void | Promise<void>) | undefined;
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

export async function buildApp(deps: AppDeps): Promise<FastifyInstance> {
  const { log, tls, clock, stopping, connections, connectionLimits, extend } = deps;
  const { handshakeMs, arrivalMs, checkMs, lingerMs } = connectionLimits;
  // Node swaps the two limits if that of the head is the longer one, and its default is 60 s.
  const serverOptions = { headersTimeout: arrivalMs, connectionsCheckingInterval: checkMs };
  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    // What we log names the request by itself; a logger for each would cost more than most requests.
    childLoggerFactory: (logger) => logger,
    bodyLimit: BODY_BYTES,
    requestTimeout: arrivalMs,
    // Every character of an id may come percent-encoded.
    routerOptions: { maxParamLength: 3 * LIMITS.idLength },
    // HEAD of a watch would wait for an event that it may not send.
    exposeHeadRoutes: false,
    // A hook says it in our words.
    return503OnClosing: false,
    genReqId: ({ headers }) => {
      const given = headers["x-request-id"];
      return typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID();
    },
    ajv: {
      customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, verbose: true },
    },
    forceCloseConnections: "idle",
    frameworkErrors: handleFrameworkError,
    clientErrorHandler: clientErrorHandler(clock, lingerMs),
    ...(tls === null
      ? { http: serverOptions }
      : { https: { ...serverOptions, ...tls, handshakeTimeout: handshakeMs } as object }),
  }) as unknown as FastifyInstance;
  app.setErrorHandler(handleError);
  app.setNotFoundHandler(handleNotFound);
  takeJsonBodies(app);
  guardConnections(app, { isTls: tls !== null, handshakeMs, clock, stopping });
  connections.guard(app.server);
  traceRequests(app);
  addRequestHooks(app, deps);

  await app.register(swagger, {
    openapi: API_DOCUMENT,
    hideUntagged: true,
    transformObject: (made) => ("openapiObject" in made ? completeDocument(made.openapiObject) : {}),
  });
  app.register(async (scope) => {
    const typed = scope.withTypeProvider<TypeBoxTypeProvider>();
    verbRoutes(typed, deps);
    watchRoutes(typed, deps);
    operationsRoutes(typed, deps);
    await pageRoutes(typed);
  });
  if (extend !== undefined) app.register(async (scope) => extend(scope));
  return app;
}
