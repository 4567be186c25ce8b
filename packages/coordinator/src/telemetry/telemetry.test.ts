/** What listeners are told, by the real libraries. */
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import client, { Registry } from "prom-client";
import { expect, test } from "vitest";
import { coordinatorTelemetry } from "./opentelemetry.js";
import { coordinatorMetrics } from "./prometheus.js";
import { publish } from "./telemetry.js";

const tell = (event: "became_leader" | "lost_leadership", reason?: string) =>
  publish({
    event,
    measurements: { time: 5 },
    metadata: { node: "a", ...(reason === undefined ? {} : { reason }) },
  });

test("prom-client counts each event and shows who coordinates, until told to stop", async () => {
  const registry = new Registry();
  const stop = coordinatorMetrics({ client, registry });
  tell("became_leader");
  expect(await registry.metrics()).toContain('coordinator_is_leader{node="a"} 1');
  tell("lost_leadership", "lapsed");
  stop();
  tell("became_leader");
  const text = await registry.metrics();
  expect(text).toContain('coordinator_is_leader{node="a"} 0');
  expect(text).toContain('coordinator_events_total{event="lost_leadership",node="a",reason="lapsed"} 1');
  expect(text).toContain('coordinator_events_total{event="became_leader",node="a",reason=""} 1');
});

test("each event is a span with its measurements and metadata", () => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const stop = coordinatorTelemetry({ tracer: provider.getTracer("test") });
  tell("lost_leadership", "lapsed");
  stop();
  tell("became_leader");
  const spans = exporter.getFinishedSpans().map(({ name, attributes }) => ({ name, attributes }));
  expect(spans).toEqual([
    { name: "tenure.coordinator.lost_leadership", attributes: { node: "a", reason: "lapsed", time: 5 } },
  ]);
});
