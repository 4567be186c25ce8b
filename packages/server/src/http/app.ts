/**
 * Builds the HTTP server: Fastify with the limits, hooks and error handlers of the service, its routes, the OpenAPI document, the
 * dashboard, and the routes of an extension. `TenureServer` opens its port.
 */
import swagger from "@fastify/swagger";
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  LogController,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
} from "fastify";
import type { TlsOptions } from "node:tls";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { Clock } from "@tenure/core";
import { LIMITS } from "@tenure/core/internal";
import type { Logger } from "pino";
import type { OpenRequests } from "../auth/open-requests.js";
import type { ElectionService } from "../election-service.js";
import type { Admission } from "../limits/admission.js";
import type { ConnectionLimit, ConnectionLimits } from "../limits/connection-limit.js";
import type { ServiceMetrics } from "../metrics/service-metrics.js";
import { requestIdOf } from "../request-id.js";
import type { RequestsInFlight } from "../requests-in-flight.js";
import type { Activity } from "../samples/activity.js";
import { traceRequests } from "../metrics/tracing.js";
import { ServiceError } from "../service-error.js";
import { parseJson } from "../wire/parse-text.js";
import { API_DOCUMENT, completeDocument } from "./api-document.js";
import { guardConnections } from "./connections.js";
import { clientErrorHandler, handleError, handleFrameworkError, handleNotFound } from "./errors.js";
import { FollowedResponse } from "./followed-response.js";
import type { HostRule } from "./foreign-requests.js";
import { operationsRoutes } from "./operations-routes.js";
import { pageRoutes } from "./page-routes.js";
import { addRequestHooks } from "./request-hooks.js";
import { AJV, compileSchemasLater } from "./schema-compilers.js";
import { verbRoutes } from "./verb-routes.js";
import { watchRoutes } from "./watch-routes.js";

export interface AppDeps {
  readonly service: ElectionService;
  readonly admission: Admission;
  readonly openRequests: OpenRequests;
  readonly metrics: ServiceMetrics;
  readonly activity: Activity;
  readonly inFlight: RequestsInFlight;
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

export async function buildApp(deps: AppDeps): Promise<FastifyInstance> {
  const { log, tls, clock, stopping, connections, connectionLimits, extend } = deps;
  const { handshakeMs, arrivalMs, checkMs, lingerMs } = connectionLimits;
  // Node swaps the two limits if that of the head is the longer one, and its default is 60 s.
  const serverOptions = {
    headersTimeout: arrivalMs,
    connectionsCheckingInterval: checkMs,
    ServerResponse: FollowedResponse,
  };
  // Fastify itself reports nothing below a warning: the server logs its start and its end.
  const fastifyLog = log.child({}, { level: log.isLevelEnabled("warn") ? "warn" : log.level });
  const app = Fastify({
    logController: new LogController({ disableRequestLogging: true }),
    // Log lines name their request themselves. With a logger of its own, Fastify would make a child for each request, and follow
    // each response.
    childLoggerFactory: () => fastifyLog,
    bodyLimit: BODY_BYTES,
    requestTimeout: arrivalMs,
    // Every character of an id may come percent-encoded.
    routerOptions: { maxParamLength: 3 * LIMITS.idLength },
    // A HEAD request of a watch would wait for an event that it must not send.
    exposeHeadRoutes: false,
    // A hook answers it, with an error of the API.
    return503OnClosing: false,
    genReqId: ({ headers }) => requestIdOf(headers["x-request-id"]),
    ajv: AJV,
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
    compileSchemasLater(scope);
    const typed = scope.withTypeProvider<TypeBoxTypeProvider>();
    verbRoutes(typed, deps);
    watchRoutes(typed, deps);
    operationsRoutes(typed, deps);
    await pageRoutes(typed);
  });
  if (extend !== undefined) app.register(async (scope) => extend(scope));
  return app;
}

/** Accepts JSON bodies only. An empty body counts as no body, whatever its content type: many clients always send that header. */
function takeJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "string" }, (_, body, done) => {
    try {
      done(null, body === "" ? undefined : parseJson(body as string));
    } catch (cause) {
      const message =
        "the body is not valid JSON, or has a key that is refused (__proto__, constructor.prototype)";
      done(new ServiceError("INVALID_REQUEST", message, {}, { cause }));
    }
  });
}
