import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { silence } from "./scripted-elector.test-kit.js";
import type { ElectionEvent } from "./state.js";
import { type ElectionMetrics, type Logger, NO_METRICS, SILENT, type Tracer } from "./telemetry.js";
import { UserCode } from "./user-code.js";
import { type Scripted, World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

const broken = (): never => {
  throw new Error("broken telemetry");
};

const rejected = (): never => Promise.reject(new Error("broken telemetry")) as never;

function loggerThat(act: () => void): Logger {
  return { debug: act, info: act, warn: act, error: act };
}

function metricsThat(act: () => void): ElectionMetrics {
  return Object.fromEntries(Object.keys(NO_METRICS).map((name) => [name, act])) as never;
}

function tracerThat(act: () => void): Tracer {
  return { startSpan: () => ({ addEvent: act, setAttribute: act, end: act }) };
}

async function all(events: AsyncIterable<ElectionEvent>): Promise<ElectionEvent[]> {
  const seen: ElectionEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

/** An election that was elected, led for a while, and then got no more answers to its renewals. */
async function cutOff(a: Scripted): Promise<void> {
  await world.until(a.election.start());
  await world.clock.advance(1100);
  a.elector.always(silence, "renew");
}

describe("Telemetry", () => {
  test.each([
    ["a logger that throws", () => ({ logger: loggerThat(broken) })],
    ["a logger that returns a rejected promise", () => ({ logger: loggerThat(rejected) })],
    ["metrics that throw", () => ({ metrics: metricsThat(broken) })],
    ["metrics that return a rejected promise", () => ({ metrics: metricsThat(rejected) })],
    ["a tracer that throws", () => ({ tracer: { startSpan: broken } })],
    ["spans that throw", () => ({ tracer: tracerThat(broken) })],
  ])("%s delays neither the signal nor onDemote, and ends no leadership", async (_what, options) => {
    const a = world.scripted("a", options());
    await cutOff(a);
    expect(a.log).toEqual(["promote 1"]);
    // The last answered renewal was sent at 1000: lease 990, margin 100.
    await world.clock.advance(1000 + 890 - 1100 - 1);
    expect(a.log).toEqual(["promote 1"]);
    await world.clock.advance(1);
    expect(a.log.slice(0, 2)).toEqual(["promote 1", "abort"]);
    a.elector.mend();
    await world.clock.advance(10);
    expect(a.log[2]).toBe("demote lapsed");
    await world.until(a.election.stop());
    expect(a.log.filter((line) => line.startsWith("demote")).length).toBe(
      a.log.filter((line) => line.startsWith("promote")).length,
    );
    expect(a.election.status().state).toEqual({ kind: "stopped" });
  });

  test("telemetry runs outside of the election's own stack, in order, after timers are set", async () => {
    const order: string[] = [];
    const code = new UserCode<string>((subject) => order.push(`${subject} failed`));
    code.call("a", () => order.push("a"));
    code.call("b", broken);
    code.call("b", broken);
    code.call("c", () => rejected());
    code.call("d", () => order.push("d"));
    order.push("armed");
    await world.clock.advance(0);
    expect(order).toEqual(["armed", "a", "b failed", "d", "c failed"]);
  });

  test.each(["stop", "resign", "isLeader", "status"] as const)(
    "a logger, metrics and spans that call %s() see a consistent election",
    async (method) => {
      const seen: string[] = [];
      let on = false;
      let acts = 0;
      const act = () => {
        // A process that resigns at each of its own log lines would do nothing else.
        if (!on || (acts += 1) > 50) return;
        const { state, isLeader } = a.election.status();
        if (isLeader !== (state.kind === "leading")) seen.push(`${state.kind} with isLeader ${isLeader}`);
        void a.election[method]();
      };
      const a: Scripted = world.scripted("a", {
        logger: loggerThat(act),
        metrics: metricsThat(act),
        tracer: tracerThat(act),
      });
      await cutOff(a);
      on = true;
      await world.clock.advance(1000);
      expect(a.log).toContain("abort");
      a.elector.mend();
      await world.until(a.election.stop());
      expect(seen).toEqual([]);
      expect(a.log.filter((line) => line.startsWith("demote")).length).toBe(
        a.log.filter((line) => line.startsWith("promote")).length,
      );
    },
  );

  test("telemetry that fails is reported once, by an event and by the logger if that works", async () => {
    const lines: string[] = [];
    const logger = { ...SILENT, error: (_fields: object, message: string) => lines.push(message) };
    const a = world.scripted("a", { logger, metrics: metricsThat(broken), tracer: tracerThat(broken) });
    const b = world.scripted("b", { groupId: "h", logger: loggerThat(broken) });
    const seen = [all(a.election.changes()), all(b.election.changes())];
    for (const { election } of [a, b]) await election.start();
    await world.clock.advance(5000);
    await world.until(Promise.all([a.election.stop(), b.election.stop()]));
    const failures = (await Promise.all(seen)).map((events) =>
      events.flatMap((event) => (event.kind === "telemetry-failed" ? [event.part] : [])),
    );
    expect(failures).toEqual([["metrics", "tracer"], ["logger"]]);
    expect(lines).toEqual(["metrics failed: broken telemetry", "tracer failed: broken telemetry"]);
  });
});

describe("The signal of a leadership", () => {
  test("the signal aborts after the election has changed its state, so a listener sees that it is stepping down", async () => {
    const a = world.scripted("a", { bare: true });
    const seen: unknown[] = [];
    a.election.onPromote((_mandate, signal) => {
      signal.addEventListener("abort", () => {
        const { state, isLeader } = a.election.status();
        seen.push([state.kind, isLeader, a.election.term()]);
      });
    });
    await cutOff(a);
    await world.clock.advance(1000);
    expect(seen).toEqual([["stepping-down", false, null]]);
    a.elector.mend();
    await world.until(a.election.stop());
  });

  test("the signal aborts before the loss is reported, so a slow metric, span or listener does not delay it", async () => {
    const reported: string[] = [];
    let signal: AbortSignal | null = null;
    const report = (by: string) =>
      reported.push(`${by}: ${signal?.aborted === true ? "aborted" : "not yet"}`);
    const a = world.scripted("a", {
      bare: true,
      metrics: {
        ...NO_METRICS,
        transition: (_labels, from) => void (from === "leading" && report("metric")),
      },
      tracer: {
        startSpan: () => ({
          addEvent: (name) => void (name === "demoting" && report("span")),
          setAttribute: () => {},
          end: () => {},
        }),
      },
    });
    a.election.on("demoting", () => report("listener"));
    a.election.onPromote((_mandate, given) => {
      signal = given;
    });
    await cutOff(a);
    await world.clock.advance(1000);
    expect(reported.toSorted()).toEqual(["listener: aborted", "metric: aborted", "span: aborted"]);
    a.elector.mend();
    await world.until(a.election.stop());
  });

  test("a listener of the signal that throws does not keep other listeners and onDemote from being called", async () => {
    const uncaught: unknown[] = [];
    const before = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    process.on("uncaughtException", (error) => uncaught.push(error));
    try {
      const a = world.scripted("a", { bare: true });
      const log: string[] = [];
      a.election.onPromote((_mandate, signal) => {
        signal.addEventListener("abort", broken);
        signal.addEventListener("abort", () => log.push("abort"));
      });
      a.election.onDemote((reason) => log.push(`demote ${reason}`));
      await cutOff(a);
      await world.clock.advance(1000);
      expect(log.slice(0, 2)).toEqual(["abort", "demote lapsed"]);
      a.elector.mend();
      await world.until(a.election.stop());
      await vi.waitFor(() => expect(uncaught).toContainEqual(new Error("broken telemetry")));
    } finally {
      process.removeAllListeners("uncaughtException");
      for (const listener of before) process.on("uncaughtException", listener);
    }
  });
});
