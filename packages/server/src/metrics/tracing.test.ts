import { VERBS } from "@tenure/api";
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Context,
  context,
  type ContextManager,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanOptions,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import { MemoryStore, StoreElector } from "@tenure/core";
import { afterEach, expect, test } from "vitest";
import { closing } from "../auth/auth.test-kit.js";
import { cleanUp, later, serve } from "../http/service.test-kit.js";
import { tracedElector } from "./tracing.js";

afterEach(cleanUp);

interface Recorded {
  readonly name: string;
  readonly id: string;
  readonly parent: string | undefined;
  readonly attributes: Record<string, unknown>;
  status?: number;
  ended: boolean;
}

/** A minimal SDK that shows what it received. */
class RecordingTracer implements Tracer {
  readonly spans: Recorded[] = [];

  startSpan(name: string, options: SpanOptions = {}, within: Context = context.active()): Span {
    const id = String(this.spans.length + 1).padStart(16, "0");
    const parent = trace.getSpanContext(within)?.spanId;
    const recorded: Recorded = { name, id, parent, attributes: { ...options.attributes }, ended: false };
    this.spans.push(recorded);
    const span = {
      spanContext: (): SpanContext => ({ traceId: "1".repeat(32), spanId: id, traceFlags: 1 }),
      setAttribute: (key: string, value: unknown) => Object.assign(recorded.attributes, { [key]: value }),
      setAttributes: (attributes: object) => Object.assign(recorded.attributes, attributes),
      setStatus: ({ code }: { code: number }) => Object.assign(recorded, { status: code }),
      isRecording: () => true,
      end: () => {
        recorded.ended = true;
      },
    };
    return span as unknown as Span;
  }

  startActiveSpan(name: string, ...rest: unknown[]): never {
    const run = rest.at(-1) as (span: Span) => unknown;
    const options = rest.length > 1 ? (rest[0] as SpanOptions) : {};
    const span = this.startSpan(name, options);
    return context.with(trace.setSpan(context.active(), span), () => run(span)) as never;
  }
}

class LocalContexts implements ContextManager {
  readonly #local = new AsyncLocalStorage<Context>();

  active(): Context {
    return this.#local.getStore() ?? ROOT_CONTEXT;
  }

  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    within: Context,
    run: F,
    self?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.#local.run(within, () => run.apply(self, args));
  }

  bind<T>(_: Context, target: T): T {
    return target;
  }

  enable(): this {
    return this;
  }

  disable(): this {
    return this;
  }
}

function register(): RecordingTracer {
  const tracer = new RecordingTracer();
  trace.setGlobalTracerProvider({ getTracer: () => tracer });
  context.setGlobalContextManager(new LocalContexts());
  propagation.setGlobalPropagator({
    inject: () => {},
    extract: (within, carrier) => {
      const spanId = (carrier as Record<string, string>)["test-parent"];
      if (spanId === undefined) return within;
      return trace.setSpanContext(within, { traceId: "1".repeat(32), spanId, traceFlags: 1 });
    },
    fields: () => [],
  });
  later(() => {
    trace.disable();
    context.disable();
    propagation.disable();
  });
  return tracer;
}

test("a request and the verb within it are spans, with group, node and term", async () => {
  const { spans } = register();
  const service = await serve();
  const headers = { "test-parent": "f".repeat(16) };
  const asked = { node_id: "a", lease_ttl_ms: 5000 };
  await service.post("/v1/groups/g%2F1/campaign", asked, { headers });
  expect(spans).toMatchObject([
    {
      name: "POST /v1/groups/:group_id/campaign",
      parent: "f".repeat(16),
      ended: true,
      attributes: {
        "http.request.method": "POST",
        "http.route": "/v1/groups/:group_id/campaign",
        "http.response.status_code": 200,
        "tenure.group_id": "g/1",
        "tenure.node_id": "a",
      },
    },
    {
      name: "tenure.campaign",
      parent: spans[0]?.id,
      ended: true,
      attributes: { "tenure.group_id": "g/1", "tenure.node_id": "a", "tenure.term": 1 },
    },
  ]);
  await service.renew("g/1", "b", 1);
  expect(spans.slice(2)).toMatchObject([
    { attributes: { "http.response.status_code": 409 }, ended: true },
    { name: "tenure.renew", attributes: { "tenure.node_id": "b", "tenure.term": 1 }, ended: true },
  ]);
  await service.leader("g/1");
  expect(spans.at(-1)).toMatchObject({ name: "tenure.leader", attributes: { "tenure.term": 1 } });
  await service.post("/v1/groups", { group_id: "g", policy: { min_ttl_ms: 1 } });
  expect(spans.at(-1)).toMatchObject({ name: "tenure.createGroup", status: 2, ended: true });
  const stream = await service.stream("/v1/groups/g%2F1/watch");
  expect((await stream.event()).data).toMatchObject({ leader_node_id: "a" });
});

test("every verb of a traced elector is callable, and each call with one answer has one span", async () => {
  const { spans } = register();
  const service = await serve();
  await service.campaign("g", "a");
  expect(await service.get("/v1/groups/g/health")).toMatchObject({ status: 200 });
  expect(spans.at(-1)).toMatchObject({ name: "tenure.health", attributes: { "tenure.group_id": "g" } });
  const elector = closing(StoreElector.open({ store: closing(new MemoryStore()) }));
  const traced: object = tracedElector(elector);
  for (const verb of Object.keys(VERBS)) expect([verb, verb in traced]).toEqual([verb, verb in elector]);
});

test("without a registered provider the elector is not wrapped", () => {
  const elector = closing(StoreElector.open({ store: closing(new MemoryStore()) }));
  expect(tracedElector(elector)).toBe(elector);
});
