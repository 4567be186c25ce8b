import { MemoryStore, StoreElector } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { afterEach, describe, expect, test } from "vitest";
import { Cluster } from "../candidate/cluster.test-kit.js";
import { PollOrchestrator } from "../polls/poll-orchestrator.js";
import { Supervisor } from "../supervisor/supervisor.js";
import { ClusterHealth, type HealthChange } from "./cluster-health.js";

const clusters: Cluster[] = [];
afterEach(async () => {
  for (const each of clusters.splice(0)) await each.close();
});

describe("Coordinator manages coordination processes", () => {
  test("Coordinator starts coordination processes: ClusterHealth, and PollOrchestrator over the healthy members", async () => {
    const cluster = new Cluster();
    clusters.push(cluster);
    const groupId = "coordinator";
    const changes: HealthChange[] = [];
    const polled: string[] = [];
    const { clock } = cluster;
    const elector = StoreElector.open({ store: new MemoryStore(), clock, keepMembers: true });
    const health = new ClusterHealth({ elector, groupId, clock, changed: (change) => changes.push(change) });
    const polls = new PollOrchestrator({
      polls: Array.from({ length: 20 }, (_, index) => ({ name: `p${index}`, intervalMs: 1000 })),
      members: () => health.healthy,
      dispatch: async ({ memberId }) => polled.push(memberId),
      clock,
      random: () => 0,
    });
    const { candidate } = cluster.node("a", { children: [health.child(), polls.child()] }, () => elector);
    await elector.createGroup({ groupId });
    await elector.heartbeat({ groupId, nodeId: "silent" });
    const startMs = clock.wallMs();
    await clock.advance(5000);
    expect(candidate.running).toEqual(["cluster-health", "poll-orchestrator"]);
    expect(new Set(polled)).toEqual(new Set(["a", "silent"]));
    await clock.advance(30_000);
    const silent = { nodeId: "silent", sinceMs: expect.any(Number) as number };
    expect(changes).toEqual([
      { nodeId: "a", from: null, to: "healthy", reason: "seen recently", sinceMs: startMs },
      { nodeId: "silent", from: null, to: "healthy", reason: "seen recently", sinceMs: startMs },
      {
        ...silent,
        from: "healthy",
        to: "suspect",
        reason: expect.stringMatching(/^silent for 2\d s$/) as string,
      },
      {
        ...silent,
        from: "suspect",
        to: "down",
        reason: expect.stringMatching(/^silent for 3\d s$/) as string,
      },
    ]);
    expect(changes.slice(2).map(({ sinceMs }) => (sinceMs ?? 0) - startMs)).toEqual([20_000, 30_000]);
    const told = cluster.messages.filter(({ event }) => event === "member_health");
    expect(told.map(({ metadata: { node, from, to, reason } }) => ({ node, from, to, reason }))).toEqual(
      changes.map(({ nodeId: node, from, to, reason }) => ({ node, from, to, reason })),
    );
    expect(told.at(-1)).toMatchObject({
      measurements: { time: expect.any(Number) as number, since: startMs + 30_000 },
      metadata: { group: groupId },
    });
    polled.length = 0;
    await clock.advance(5000);
    expect(new Set(polled)).toEqual(new Set(["a"]));
    await candidate.stop();
    expect(candidate.running).toEqual([]);
    await elector.close();
  });
});

test("ClusterHealth keeps the last state if no elector answers, and reports the failure", async () => {
  const clock = new VirtualClock();
  const failures: unknown[] = [];
  const member = {
    nodeId: "m",
    role: "candidate",
    ready: true,
    lastHeartbeatMs: 0,
    state: "healthy",
    reason: "seen recently",
    sinceMs: 0,
  } as const;
  let answers = [Promise.resolve([member])];
  const elector = { health: () => answers.shift() ?? Promise.reject(new Error("out")) };
  const health = new ClusterHealth({ elector, groupId: "g", clock, failed: (error) => failures.push(error) });
  const stopping = new AbortController();
  const lease = { leftMs: () => Number.POSITIVE_INFINITY };
  const ended = new Supervisor({ children: [health.child()], clock }).run(1, stopping.signal, lease);
  await clock.advance(3000);
  expect(health.healthy).toEqual(["m"]);
  expect(failures).toHaveLength(1);
  answers = [Promise.resolve([])];
  await clock.advance(2000);
  expect(health.healthy).toEqual([]);
  stopping.abort();
  await clock.advance(0);
  await ended;
});

test("ClusterHealth and PollOrchestrator need neither a clock nor random numbers", async () => {
  const stopping = new AbortController();
  const lease = { leftMs: () => Number.POSITIVE_INFINITY };
  let look = (): void => {};
  const looked = new Promise<void>((resolve) => {
    look = resolve;
  });
  const elector = {
    health: () => {
      look();
      return Promise.resolve([]);
    },
  };
  const health = new ClusterHealth({ elector, groupId: "g" });
  let poll = (): void => {};
  const polled = new Promise<void>((resolve) => {
    poll = resolve;
  });
  const polls = new PollOrchestrator({
    polls: [{ name: "p", intervalMs: 1 }],
    members: () => ["m"],
    dispatch: async () => poll(),
  });
  const ended = new Supervisor({ children: [health.child(), polls.child()] }).run(1, stopping.signal, lease);
  // A child that cannot run ends the supervisor.
  await Promise.race([Promise.all([looked, polled]), ended]);
  stopping.abort();
  expect(await ended).toEqual({ kind: "stopped" });
});

test("ClusterHealth refuses an elector without members", () => {
  const elector = {} as StoreElector;
  expect(() => new ClusterHealth({ elector, groupId: "g", clock: new VirtualClock() })).toThrow(
    "elector keeps no members",
  );
});
