import type { WatchEvent } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { afterEach, describe, expect, test } from "vitest";
import { cleanUp, memory, serve } from "../http/service.test-kit.js";
import { BusiestLabels } from "./busiest-labels.js";
import { ServiceMetrics } from "./service-metrics.js";

afterEach(cleanUp);

function event(
  type: WatchEvent["type"],
  term: number,
  leaderNodeId: string | null,
  groupId = "g",
): WatchEvent {
  const rest = { cursor: 0, previousLeaderNodeId: null, reason: "none", tsMs: 0 } as const;
  return { type, groupId, term, leaderNodeId, ...rest };
}

function followed() {
  const clock = new VirtualClock();
  const metrics = new ServiceMetrics(clock.process(), async () => true, {});
  const value = async (series: string) => {
    const line = (await metrics.registry.metrics()).split("\n").find((each) => each.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length));
  };
  return { clock, metrics, value };
}

const CHANGES = 'leader_changes_total{group_id="g"}';

describe("metrics derived from events", () => {
  test("time_to_elect_ms is the time from a vacancy to the next leader", async () => {
    const { clock, metrics, value } = followed();
    metrics.follow(event("LEADER_CHANGED", 1, "a"));
    await clock.advance(700);
    metrics.follow(event("LEADER_LOST", 1, null));
    await clock.advance(300);
    metrics.follow(event("LEADER_CHANGED", 2, "b"));
    expect(await value("time_to_elect_ms_count")).toBe(1);
    expect(await value("time_to_elect_ms_sum")).toBe(300);
    expect(await value(CHANGES)).toBe(2);
    expect(await value("split_brain_detected_total")).toBe(0);
  });

  test("the state that a server finds when it starts does not count as a change of leader", async () => {
    const { metrics, value } = followed();
    metrics.follow(event("RESYNC", 41, "a"));
    expect(await value(CHANGES)).toBeUndefined();
    metrics.follow(event("LEADER_LOST", 41, null));
    metrics.follow(event("LEADER_CHANGED", 42, "b"));
    expect(await value(CHANGES)).toBe(1);
  });

  test("leaders missed before a RESYNC are counted by their terms, and their elections are not timed", async () => {
    const { clock, metrics, value } = followed();
    metrics.follow(event("LEADER_CHANGED", 1, "a"));
    metrics.follow(event("LEADER_LOST", 1, null));
    await clock.advance(60_000);
    metrics.follow(event("RESYNC", 5, null));
    await clock.advance(100);
    metrics.follow(event("LEADER_CHANGED", 6, "b"));
    expect(await value(CHANGES)).toBe(6);
    expect(await value("time_to_elect_ms_sum")).toBe(100);
  });

  test("two holders of one term, or a term that goes back, count as a split brain", async () => {
    const { metrics, value } = followed();
    metrics.follow(event("LEADER_CHANGED", 2, "a"));
    metrics.follow(event("LEADER_LOST", 2, null));
    metrics.follow(event("LEADER_CHANGED", 2, "b"));
    expect(await value("split_brain_detected_total")).toBe(1);
    metrics.follow(event("LEADER_CHANGED", 1, "a"));
    expect(await value("split_brain_detected_total")).toBe(2);
  });

  test("a thousand groups have their own label, and the rest share the label other", async () => {
    const { metrics, value } = followed();
    for (let index = 0; index < 1500; index++) metrics.follow(event("LEADER_CHANGED", 1, "a", `g${index}`));
    const lines = (await metrics.registry.metrics()).match(/^leader_changes_total\{/gm);
    expect(lines).toHaveLength(1001);
    expect(await value('leader_changes_total{group_id="other"}')).toBe(500);
    metrics.follow(event("LEADER_CHANGED", 3, "a", "g1499"));
    expect(await value('leader_changes_total{group_id="g1499"}')).toBe(2);
    expect(await value('leader_changes_total{group_id="other"}')).toBe(500);
    expect((await metrics.registry.metrics()).match(/^leader_changes_total\{/gm)).toHaveLength(1001);
  });
});

test("the busiest groups keep their label, and one that is twice as busy replaces the least busy", () => {
  const dropped: string[] = [];
  const labels = new BusiestLabels(2, (label) => dropped.push(label));
  const count = (text: string) =>
    text
      .split("")
      .map((each) => labels.count(each))
      .join(" ");
  expect(count("aaabb")).toBe("a a a b b");
  expect(count("ccc")).toBe("other other other");
  expect([count("c"), dropped]).toEqual(["c", ["b"]]);
  expect(count("bbb")).toBe("other other other");
  expect([count("b"), dropped]).toEqual(["b", ["b", "a"]]);
});

describe("metrics of a running service", () => {
  test("a running service has the documented metrics", async () => {
    const service = await serve();
    await service.campaign("g", "a");
    await service.resign("g", "a", 1);
    await service.campaign("g", "b");
    await service.renew("g", "a", 1);
    await service.untilMetric(CHANGES, 2);
    expect(await service.metric("time_to_elect_ms_count")).toBe(1);
    expect(await service.metric('renew_failures_total{reason="NOT_LEADER"}')).toBe(1);
    expect(await service.metric("store_quorum_health")).toBe(1);
    expect(await service.metric("split_brain_detected_total")).toBe(0);
    const campaign = '{route="/v1/groups/:group_id/campaign",method="POST",status="200"}';
    expect(await service.metric(`request_latency_ms_count${campaign}`)).toBe(2);
  });

  test("a service that starts beside a leader counts the next leader, not that one", async () => {
    const store = memory();
    const before = await serve({}, { store });
    await before.campaign("g", "a");
    const service = await serve({}, { store });
    await service.resign("g", "a", 1);
    await service.campaign("g", "b");
    await service.untilMetric("time_to_elect_ms_count", 1);
    expect(await service.metric(CHANGES)).toBe(1);
  });

  test("a running service counts the waiting campaigns", async () => {
    const service = await serve();
    await service.campaign("g", "a");
    const waiting = service.campaign("g", "b", { wait_ms: 60_000 });
    const stream = await service.stream("/v1/watch");
    await stream.event();
    await service.untilMetric("waiting_campaigns", 1);
    expect(await service.metric("open_watches")).toBe(1);
    await service.resign("g", "a", 1);
    await waiting;
    await service.untilMetric("waiting_campaigns", 0);
  });
});
