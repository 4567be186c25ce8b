/** What listeners receive, with the real libraries. */
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

const tell = (event: "election_started" | "became_leader" | "lost_leadership", reason?: string) =>
  publish({
    event,
    measurements: { time: 5 },
    metadata: { node: "a", ...(reason === undefined ? {} : { reason }) },
  });

test("prom-client counts each event and shows the coordinator, until stopped", async () => {
  const registry = new Registry();
  const stop = coordinatorMetrics({ client, registry });
  tell("election_started");
  expect(await registry.metrics()).toContain('coordinator_is_leader{node="a"} 0');
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

test("OpenTelemetry counts each event by its kind, and the coordinator gauge goes up by one and down again", () => {
  const added: [string, number, unknown][] = [];
  const adder = (name: string) => ({
    add: (value: number, attributes?: unknown) => added.push([name, value, attributes]),
  });
  const stop = coordinatorTelemetry({ meter: { createCounter: adder, createUpDownCounter: adder } });
  // A leadership that began before it listened is not subtracted.
  tell("lost_leadership", "lapsed");
  tell("became_leader");
  tell("lost_leadership", "stopped");
  stop();
  const events = "tenure.coordinator.events";
  const leads = "tenure.coordinator.is_leader";
  expect(added).toEqual([
    [events, 1, { event: "lost_leadership", node: "a", reason: "lapsed" }],
    [events, 1, { event: "became_leader", node: "a" }],
    [leads, 1, { node: "a" }],
    [events, 1, { event: "lost_leadership", node: "a", reason: "stopped" }],
    [leads, -1, { node: "a" }],
  ]);
});

test("events of a child are counted by its id", async () => {
  const registry = new Registry();
  const added: unknown[] = [];
  const adder = () => ({ add: (_value: number, attributes?: unknown) => void added.push(attributes) });
  const stops = [
    coordinatorMetrics({ client, registry }),
    coordinatorTelemetry({ meter: { createCounter: adder, createUpDownCounter: adder } }),
  ];
  const metadata = { node: "a", term: 1, child: "work", error: "no database" };
  publish({ event: "child_crashed", measurements: { time: 5 }, metadata });
  for (const stop of stops) stop();
  expect(await registry.metrics()).toContain(
    'coordinator_events_total{event="child_crashed",node="a",reason="",child="work"} 1',
  );
  expect(added).toEqual([{ event: "child_crashed", node: "a", child: "work" }]);
});

test("the series of a member's health is labelled by its state, not by its reason", async () => {
  const registry = new Registry();
  const stop = coordinatorMetrics({ client, registry });
  const metadata = { node: "m", group: "g", from: "healthy", to: "suspect", reason: "silent for 23 s" };
  publish({ event: "member_health", measurements: { time: 5, since: 4 }, metadata });
  stop();
  expect(await registry.metrics()).toContain(
    'coordinator_events_total{event="member_health",node="m",reason="suspect"} 1',
  );
});
