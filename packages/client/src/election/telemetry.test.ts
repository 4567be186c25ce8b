import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { BackendUnavailableError, type ElectorAdmin } from "@tenure/core";
import { pino } from "pino";
import client, { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { altered } from "../observer/observer.test-kit.js";
import { prometheusMetrics } from "../prometheus/prometheus-metrics.js";
import type { ElectionOptions } from "./options.js";
import { World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

/** Leads for ten seconds, loses the store and its lease, comes back, leads again and stops. */
async function twoLeaderships(options: Partial<ElectionOptions>): Promise<void> {
  let down = false;
  const gone = () => Promise.reject(new BackendUnavailableError("the store is gone"));
  const { election } = world.participant("a", options, (elector) =>
    altered(elector, {
      campaign: (...args) => (down ? gone() : elector.campaign(...args)),
      renew: (...args) => (down ? gone() : elector.renew(...args)),
      resign: (...args) => (down ? gone() : elector.resign(...args)),
    }),
  );
  await election.start();
  await world.clock.advance(10_000);
  down = true;
  await world.clock.advance(5000);
  expect(election.isLeader()).toBe(false);
  down = false;
  await world.clock.advance(20_000);
  expect(election.isLeader()).toBe(true);
  // Without its knowledge: its lease is no longer valid.
  const other = world.participant("other").elector as ElectorAdmin;
  await other.stepDown({ groupId: "g", by: "test", force: true });
  expect(await election.validateTokenOrDemote()).toBe(false);
  const stopped = election.stop();
  await world.clock.advance(5000);
  await stopped;
}

describe("prometheusMetrics", () => {
  test("an election is reported in the eight series, and in no other", async () => {
    const registry = new Registry();
    await twoLeaderships({ metrics: prometheusMetrics({ client, registry }) });
    const series = await read(registry);
    const names = new Set([...series.keys()].map((name) => name.replace(/\{.*/, "")));
    expect([...names].toSorted()).toEqual([
      "election_acquire_attempts_total",
      "election_connection_status",
      "election_failures_total",
      "election_heartbeat_duration_seconds_bucket",
      "election_heartbeat_duration_seconds_count",
      "election_heartbeat_duration_seconds_sum",
      "election_is_leader",
      "election_leader_duration_seconds_bucket",
      "election_leader_duration_seconds_count",
      "election_leader_duration_seconds_sum",
      "election_token_validation_failures_total",
      "election_transitions_total",
    ]);
    const of = (name: string, labels = "") => series.get(`${name}{group="g",node="a"${labels}}`);
    expect(of("election_is_leader")).toBe(0);
    expect(of("election_connection_status")).toBe(1);
    expect(of("election_transitions_total", ',from="following",to="leading"')).toBe(2);
    expect(of("election_transitions_total", ',from="leading",to="stepping-down"')).toBe(2);
    expect(of("election_acquire_attempts_total", ',outcome="elected"')).toBe(2);
    expect(of("election_acquire_attempts_total", ',outcome="failed"')).toBeGreaterThan(0);
    expect(of("election_failures_total", ',code="BACKEND_UNAVAILABLE"')).toBeGreaterThan(0);
    expect(of("election_token_validation_failures_total")).toBe(1);
    expect(of("election_leader_duration_seconds_count")).toBe(2);
    // Ten seconds, then the rest of the ttl, and finally about twenty.
    expect(of("election_leader_duration_seconds_sum")).toBeGreaterThan(25);
    expect(of("election_leader_duration_seconds_sum")).toBeLessThan(31);
    // Five heartbeats a second, for a ttl of one.
    expect(of("election_heartbeat_duration_seconds_count", ',outcome="renewed"')).toBeGreaterThan(120);
    expect(of("election_heartbeat_duration_seconds_count", ',outcome="failed"')).toBeGreaterThan(0);
  });

  test("the gauges show that the election leads, and that the elector does not answer", async () => {
    const registry = new Registry();
    let down = false;
    const { election } = world.participant(
      "a",
      { metrics: prometheusMetrics({ client, registry }) },
      (elector) =>
        altered(elector, {
          renew: (...args) =>
            down ? Promise.reject(new BackendUnavailableError("gone")) : elector.renew(...args),
        }),
    );
    const gauges = async () => {
      const series = await read(registry);
      return ["election_is_leader", "election_connection_status"].map((name) =>
        series.get(`${name}{group="g",node="a"}`),
      );
    };
    await election.start();
    expect(await gauges()).toEqual([1, 1]);
    down = true;
    await world.clock.advance(300);
    expect(await gauges()).toEqual([1, 0]);
    down = false;
    await world.clock.advance(300);
    expect(await gauges()).toEqual([1, 1]);
    await election.stop();
    expect(await gauges()).toEqual([0, 1]);
  });

  test("elections of one process share the series, even if the metrics are created twice", async () => {
    const registry = new Registry();
    for (const groupId of ["g", "h"]) {
      const metrics = prometheusMetrics({ client, registry });
      await world.participant("a", { groupId, metrics }).election.start();
    }
    const series = await read(registry);
    expect(series.get('election_is_leader{group="g",node="a"}')).toBe(1);
    expect(series.get('election_is_leader{group="h",node="a"}')).toBe(1);
  });

  test("prometheusMetrics without a registry uses the client's default registry", async () => {
    prometheusMetrics({ client });
    expect(client.register.getSingleMetric("election_is_leader")).toBeDefined();
    client.register.clear();
  });

  test.each([
    ["client", {}],
    ["client", { client: {} }],
    ["prefix", { client, prefix: "x" }],
  ])("wrong options of prometheusMetrics are refused by name: %s", (field, options) => {
    expect(() => prometheusMetrics(options as { client: typeof client })).toThrow(
      expect.objectContaining({ code: "INVALID_REQUEST", field }),
    );
  });
});

test("with pino, every line of a leadership has its own correlation id", async () => {
  const lines: Record<string, unknown>[] = [];
  const logger = pino(
    { level: "debug" },
    { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  await twoLeaderships({ logger });
  expect(lines.every(({ group, node }) => group === "g" && node === "a")).toBe(true);
  const ids = lines.filter(({ msg }) => msg === "became leader").map(({ correlationId }) => correlationId);
  expect(ids).toHaveLength(2);
  expect(new Set(ids).size).toBe(2);
  for (const [index, id] of ids.entries()) {
    const begin = lines.findIndex(
      ({ msg, correlationId }) => msg === "became leader" && correlationId === id,
    );
    const end = lines.findIndex(({ msg, correlationId }) => msg === "work finished" && correlationId === id);
    expect(end).toBeGreaterThan(begin);
    const during = lines.slice(begin, end + 1);
    expect(during.map(({ correlationId }) => correlationId)).toEqual(during.map(() => id));
    expect(during.every(({ term }) => term === index + 1)).toBe(true);
  }
  // Errors are written in pino's format.
  expect(lines.find(({ err }) => err !== undefined)).toMatchObject({
    err: { type: "BackendUnavailableError", code: "BACKEND_UNAVAILABLE" },
  });
});

test("with OpenTelemetry, each campaign and each leadership is a span", async () => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  await twoLeaderships({ tracer: provider.getTracer("test") });
  const spans = exporter.getFinishedSpans();
  const campaigns = spans.filter(({ name }) => name === "tenure.campaign");
  const outcomes = campaigns.map(({ attributes }) => attributes["tenure.outcome"]);
  expect(outcomes.filter((outcome) => outcome === "elected")).toHaveLength(2);
  expect(outcomes).toContain("failed");
  const leaderships = spans.filter(({ name }) => name === "tenure.leadership");
  expect(leaderships.map(({ attributes }) => attributes)).toEqual([
    { "tenure.group": "g", "tenure.node": "a", "tenure.term": 1, "tenure.reason": "lapsed" },
    { "tenure.group": "g", "tenure.node": "a", "tenure.term": 2, "tenure.reason": "token-invalid" },
  ]);
  expect(leaderships[0]?.events.map(({ name }) => name)).toEqual(["danger", "demoting"]);
  await provider.shutdown();
});

/** Every series with its labels, and its value. */
async function read(registry: Registry): Promise<Map<string, number>> {
  const text = await registry.metrics();
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => {
      const [, name = "", value = ""] = /^(\S+) (\S+)$/.exec(line) ?? [];
      return [name, Number(value)];
    }),
  );
}
