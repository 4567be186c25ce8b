/**
 * OpenTelemetry: a span per request and, within it, one per verb of the elector. The program that runs the service
 * registers a provider before it opens the server; where there is none, no hook is added and nothing is wrapped.
 */
import {
  type Context,
  context,
  propagation,
  ProxyTracer,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import { VERBS } from "@tenure/api";
import type { ServiceElector } from "@tenure/core/internal";
import type { FastifyInstance, FastifyRequest } from "fastify";

type Verbs = Exclude<keyof ServiceElector & string, "close">;

export function traceRequests(app: FastifyInstance): void {
  const tracer = registeredTracer();
  if (tracer === null) return;
  const open = new WeakMap<FastifyRequest, { readonly span: Span; readonly within: Context }>();

  app.addHook("onRequest", (request, _, done) => {
    const route = request.routeOptions.url ?? "none";
    const attributes = { "http.request.method": request.method, "http.route": route };
    const options = { kind: SpanKind.SERVER, attributes };
    const parent = propagation.extract(ROOT_CONTEXT, request.headers);
    const span = tracer.startSpan(`${request.method} ${route}`, options, parent);
    open.set(request, { span, within: trace.setSpan(parent, span) });
    done();
  });
  // Not sooner: what is read of a body comes from outside of any context.
  app.addHook("preHandler", (request, _, done) => {
    const traced = open.get(request);
    if (traced === undefined) return done();
    traced.span.setAttributes(attributesOf({ ...asObject(request.body), ...asObject(request.params) }));
    context.with(traced.within, done);
  });
  app.addHook("onResponse", (request, reply, done) => {
    const span = open.get(request)?.span;
    span?.setAttribute("http.response.status_code", reply.statusCode);
    if (reply.statusCode >= 500) span?.setStatus({ code: SpanStatusCode.ERROR });
    span?.end();
    done();
  });
}

/**
 * Returns the elector itself if no tracer is registered. Otherwise each verb with one answer has a span; the table of verbs says which
 * verbs these are. Streams are long-lived, and have none.
 */
export function tracedElector(elector: ServiceElector): ServiceElector {
  const tracer = registeredTracer();
  if (tracer === null) return elector;
  // Whatever is not traced is the elector's own, bound to it: nothing that the port has can be missing.
  return new Proxy(elector, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== "function") return member;
      const run = member.bind(target) as Run;
      return isTraced(key) ? traced(tracer, key, run) : run;
    },
  });
}

type Run = (...args: unknown[]) => Promise<unknown>;

function isTraced(key: string | symbol): key is Verbs {
  return key in VERBS && VERBS[key as Verbs].answers === "once" && key !== "ping";
}

function traced(tracer: Tracer, verb: Verbs, run: Run): Run {
  return (...args) => {
    const [request] = args;
    const asked = typeof request === "string" ? { groupId: request } : asObject(request);
    return tracer.startActiveSpan(`tenure.${verb}`, { attributes: attributesOf(asked) }, async (span) => {
      try {
        const result = await run(...args);
        const { leader, term } = asObject(result);
        span.setAttributes(attributesOf({ term: asObject(leader)["term"] ?? term }));
        return result;
      } catch (error) {
        span.setStatus({ code: SpanStatusCode.ERROR, message: String(error) });
        throw error;
      } finally {
        span.end();
      }
    });
  };
}

function registeredTracer(): Tracer | null {
  const tracer = trace.getTracer("tenure");
  return tracer instanceof ProxyTracer ? null : tracer;
}

/** Names as on the wire or as in the library. */
function attributesOf(named: Readonly<Record<string, unknown>>): Record<string, string | number> {
  const attributes: Record<string, string | number> = {};
  const groupId = named["groupId"] ?? named["group_id"];
  const nodeId = named["nodeId"] ?? named["node_id"];
  const { term } = named as { term?: unknown };
  if (typeof groupId === "string") attributes["tenure.group_id"] = groupId;
  if (typeof nodeId === "string") attributes["tenure.node_id"] = nodeId;
  if (typeof term === "number") attributes["tenure.term"] = term;
  return attributes;
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
