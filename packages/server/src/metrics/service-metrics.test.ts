import type { WatchEvent } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { afterEach, describe, expect, test } from "vitest";
import { cleanUp, memory, serve } from "../http/service.test-kit.js";
import { GroupMonitor } from "../attention/group-monitor.js";
import { inspected } from "../attention/sight.test-kit.js";
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
  const metrics = new ServiceMetrics(async () => true, {});
  const groups = new GroupMonitor({
    clock: clock.process(),
    inspector: { group: (groupId) => inspected({ groupId }), after: () => ({ groups: [], last: null }) },
    onChange: (each, change) => metrics.observeChange(each, change),
    onFinding: () => {},
  });
  const value = async (series: string) => {
    const line = (await metrics.registry.metrics()).split("\n").find((each) => each.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length));
  };
  return { clock, metrics, groups, value };
}

const CHANGES = 'leader_changes_total{group_id="g"}';

describe("metrics derived from events", () => {
  test("time_to_elect_ms is the time from a vacancy to the next leader", async () => {
    const { clock, groups, value } = followed();
    groups.follow(event("LEADER_CHANGED", 1, "a"));
    await clock.advance(700);
    groups.follow(event("LEADER_LOST", 1, null));
    await clock.advance(300);
    groups.follow(event("LEADER_CHANGED", 2, "b"));
    expect(await value("time_to_elect_ms_count")).toBe(1);
    expect(await value("time_to_elect_ms_sum")).toBe(300);
    expect(await value(CHANGES)).toBe(2);
    expect(await value("split_brain_detected_total")).toBe(0);
  });

  test("tenure_failover_seconds is the time from the last renewal of a lost leader to the next leader", async () => {
    const { groups, value } = followed();
    groups.follow(event("LEADER_CHANGED", 1, "a"));
    const silent = { tsMs: 60_000, silentMs: 15_000 };
    groups.follow({ ...event("LEADER_LOST", 1, null), ...silent });
    groups.follow({ ...event("LEADER_CHANGED", 2, "b"), tsMs: 60_300 });
    expect(await value("tenure_failover_seconds_count")).toBe(1);
    expect(await value("tenure_failover_seconds_sum")).toBe(15.3);
    groups.follow({ ...event("LEADER_LOST", 2, null), tsMs: 70_000 });
    groups.follow({ ...event("LEADER_CHANGED", 3, "a"), tsMs: 70_200 });
    expect(await value("tenure_failover_seconds_sum")).toBe(15.5);
  });

  test("the state that a server finds when it starts does not count as a change of leader", async () => {
    const { groups, value } = followed();
    groups.follow(event("RESYNC", 41, "a"));
    expect(await value(CHANGES)).toBeUndefined();
    groups.follow(event("LEADER_LOST", 41, null));
    groups.follow(event("LEADER_CHANGED", 42, "b"));
    expect(await value(CHANGES)).toBe(1);
  });

  test("leaders missed before a RESYNC are counted by their terms, and their elections are not timed", async () => {
    const { clock, groups, value } = followed();
    groups.follow(event("LEADER_CHANGED", 1, "a"));
    groups.follow(event("LEADER_LOST", 1, null));
    await clock.advance(60_000);
    groups.follow(event("RESYNC", 5, null));
    await clock.advance(100);
    groups.follow(event("LEADER_CHANGED", 6, "b"));
    expect(await value(CHANGES)).toBe(6);
    expect(await value("time_to_elect_ms_sum")).toBe(100);
  });

  test("two holders of one term, or a term that goes back, count as a split brain", async () => {
    const { groups, value } = followed();
    groups.follow(event("LEADER_CHANGED", 2, "a"));
    groups.follow(event("LEADER_LOST", 2, null));
    groups.follow(event("LEADER_CHANGED", 2, "b"));
    expect(await value("split_brain_detected_total")).toBe(1);
    groups.follow(event("LEADER_CHANGED", 1, "a"));
    expect(await value("split_brain_detected_total")).toBe(2);
  });

  test("a thousand groups have their own label, and the rest share the label other", async () => {
    const { metrics, groups, value } = followed();
    for (let index = 0; index < 1500; index++) groups.follow(event("LEADER_CHANGED", 1, "a", `g${index}`));
    const lines = (await metrics.registry.metrics()).match(/^leader_changes_total\{/gm);
    expect(lines).toHaveLength(1001);
    expect(await value('leader_changes_total{group_id="other"}')).toBe(500);
    groups.follow(event("LEADER_CHANGED", 3, "a", "g1499"));
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

  test("the failover time of a crashed leader contains its silence, and the time to elect does not", async () => {
    const service = await serve();
    await service.campaign("g", "a", { lease_ttl_ms: 1000 });
    await service.campaign("g", "b", { wait_ms: 60_000 });
    await service.untilMetric("tenure_failover_seconds_count", 1);
    const failoverMs = 1000 * (await service.metric("tenure_failover_seconds_sum"));
    expect(failoverMs).toBeGreaterThanOrEqual(1000);
    expect(failoverMs - (await service.metric("time_to_elect_ms_sum"))).toBeGreaterThanOrEqual(990);
  });

  test("a running service has gauges of its groups, their leaders, members and findings", async () => {
    const service = await serve();
    await service.campaign("g", "a");
    await service.campaign("h", "a");
    await service.post("/v1/groups/h/pause", {});
    await service.untilMetric('tenure_groups{state="paused"}', 1);
    await service.untilMetric("tenure_members", 2);
    expect(await service.metric('tenure_groups{state="led"}')).toBe(2);
    expect(await service.metric('tenure_groups{state="vacant"}')).toBe(0);
    expect(await service.metric('tenure_group_has_leader{group_id="g"}')).toBe(1);
    expect(await service.metric('tenure_attention{kind="paused_long",severity="note"}')).toBe(1);
    expect(await service.metric("tenure_oldest_vacancy_seconds")).toBe(0);
    expect(await service.metric("tenure_store_write_seconds_count")).toBeGreaterThan(2);
    await service.campaign("v", "a", { lease_ttl_ms: 500 });
    await service.untilMetric('tenure_group_attention{group_id="v",kind="vacant",severity="problem"}', 1);
    expect(await service.metric('tenure_group_has_leader{group_id="v"}')).toBe(0);
    expect(await service.metric("tenure_oldest_vacancy_seconds")).toBeGreaterThanOrEqual(2);
    await service.campaign("v", "b");
    await service.untilMetric('tenure_attention{kind="vacant",severity="problem"}', 0);
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
