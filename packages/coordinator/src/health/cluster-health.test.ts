import { MemoryStore, StoreElector } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { afterEach, expect, test } from "vitest";
import { Cluster } from "../candidate/cluster.test-kit.js";
import { PollOrchestrator } from "../polls/poll-orchestrator.js";
import { ClusterHealth, type HealthChange } from "./cluster-health.js";

const clusters: Cluster[] = [];
afterEach(async () => {
  for (const each of clusters.splice(0)) await each.close();
});

test("Coordinator starts coordination processes: ClusterHealth, and PollOrchestrator over whom it finds healthy", async () => {
  const cluster = new Cluster();
  clusters.push(cluster);
  const groupId = "coordinator";
  const changes: HealthChange[] = [];
  const polled: string[] = [];
  const store = new MemoryStore();
  const clock = cluster.clock;
  const elector = StoreElector.open({ store, clock, keepMembers: true });
  const health = new ClusterHealth({ elector, groupId, clock, changed: (change) => changes.push(change) });
  const polls = new PollOrchestrator({
    polls: Array.from({ length: 20 }, (_, index) => ({ name: `p${index}`, intervalMs: 1000 })),
    members: () => health.healthy,
    dispatch: async ({ memberId }) => polled.push(memberId),
    clock,
    random: () => 0,
  });
  const { candidate } = cluster.node("a", { children: [health.child(), polls.child()] }, () => elector);
  await elector.heartbeat({ groupId, nodeId: "silent" });
  await clock.advance(5000);
  expect(candidate.running).toEqual(["cluster-health", "poll-orchestrator"]);
  expect(new Set(polled)).toEqual(new Set(["a", "silent"]));
  await clock.advance(30_000);
  expect(changes).toEqual([
    { nodeId: "a", from: null, to: "healthy", reason: "gives signs of life" },
    { nodeId: "silent", from: null, to: "healthy", reason: "gives signs of life" },
    {
      nodeId: "silent",
      from: "healthy",
      to: "suspect",
      reason: expect.stringMatching(/^silent for 2\d s$/) as string,
    },
    {
      nodeId: "silent",
      from: "suspect",
      to: "down",
      reason: expect.stringMatching(/^silent for 3\d s$/) as string,
    },
  ]);
  polled.length = 0;
  await clock.advance(5000);
  expect(new Set(polled)).toEqual(new Set(["a"]));
  await candidate.stop();
  expect(candidate.running).toEqual([]);
  await elector.close();
});

test("an elector without members is refused", () => {
  const elector = {} as StoreElector;
  expect(() => new ClusterHealth({ elector, groupId: "g", clock: new VirtualClock() })).toThrow(
    "elector keeps no account",
  );
});
