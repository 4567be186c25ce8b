/** Each scenario of the specification, by its name. */
import { BackendUnavailableError, type Elector, type WatchEvent, type WatchOptions } from "@tenure/core";
import { unlessAborted } from "@tenure/core/internal";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { functionChild } from "../supervisor/function-child.js";
import { channelName } from "../telemetry/telemetry.js";
import { Cluster } from "./cluster.test-kit.js";
import { readEnvironment } from "./environment.js";

/** An elector that counts the campaigns made through it. */
function counting(counts: { campaigns: number }): (elector: Elector) => Elector {
  return (elector) =>
    new Proxy(elector, {
      get(target, name: keyof Elector) {
        if (name === "campaign") counts.campaigns += 1;
        const value = Reflect.get(target, name) as unknown;
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
}

/** An elector that answers no call while it is cut off, and whose watch is silent afterwards. */
function cutOff(): { isCut: boolean; elector: (behind: Elector) => Elector } {
  const cut = { isCut: false, elector };
  async function* watch(behind: Elector, groupId: string, options: WatchOptions): AsyncGenerator<WatchEvent> {
    for await (const event of behind.watch(groupId, options)) {
      if (cut.isCut) await unlessAborted(options.signal, new Promise(() => {}));
      yield event;
    }
  }
  function elector(behind: Elector): Elector {
    return new Proxy(behind, {
      get(target, name: keyof Elector) {
        if (name === "watch")
          return (groupId: string, options: WatchOptions) => watch(target, groupId, options);
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== "function") return value;
        if (cut.isCut) return () => Promise.reject(new BackendUnavailableError("cut off"));
        return value.bind(target) as unknown;
      },
    });
  }
  return cut;
}

let cluster: Cluster;
beforeEach(() => {
  cluster = new Cluster();
});
afterEach(() => cluster.close());

describe("CoordinatorCandidate participates in leader election", () => {
  test("CoordinatorCandidate starts on eligible node", async () => {
    const { eligible } = readEnvironment({ COORDINATOR_ELIGIBLE: "true" });
    const counts = { campaigns: 0 };
    const { candidate } = cluster.node("a", { eligible }, counting(counts));
    await cluster.clock.advance(100);
    expect(candidate.state).toBe("running");
    expect(counts.campaigns).toBe(1);
  });

  test("CoordinatorCandidate skipped on ineligible node", async () => {
    const { eligible } = readEnvironment({ COORDINATOR_ELIGIBLE: "false" });
    const counts = { campaigns: 0 };
    const { candidate } = cluster.node("a", { eligible }, counting(counts));
    await cluster.clock.advance(60_000);
    expect(candidate.state).toBe("ineligible");
    expect(counts.campaigns).toBe(0);
    expect(cluster.messages).toEqual([]);
  });

  test("CoordinatorCandidate becomes leader when no leader exists", async () => {
    const { candidate, log } = cluster.node("a");
    await cluster.clock.advance(100);
    expect(candidate.isCoordinator()).toBe(true);
    expect(log).toEqual(["start 1"]);
  });

  test("CoordinatorCandidate becomes standby when leader exists", async () => {
    cluster.node("a");
    await cluster.clock.advance(100);
    const { candidate, log } = cluster.node("b", { electionIntervalMs: 2000 });
    await cluster.clock.advance(10_000);
    expect(candidate.isCoordinator()).toBe(false);
    expect(candidate.status()?.leaderId).toBe("a");
    expect(log).toEqual([]);
    const checks = cluster.events("election_check").filter(({ node }) => node === "b");
    expect(checks).toHaveLength(6);
    expect(checks.at(-1)).toEqual({ node: "b", leader: "a" });
  });
});

describe("Coordinator manages coordination processes", () => {
  test("Coordinator stops coordination processes on shutdown", async () => {
    const { candidate, log, elector } = cluster.node("a");
    await cluster.clock.advance(100);
    const stopped = candidate.stop();
    await cluster.clock.advance(100);
    await stopped;
    expect(log).toEqual(["start 1", "stop 1"]);
    expect((await elector.leader("coordinator")).leader).toBe(null);
    expect(cluster.events("lost_leadership")).toEqual([{ node: "a", reason: "stopped" }]);
  });

  test("a coordinator whose children cannot be kept alive loses the leadership to a healthier node", async () => {
    const broken = functionChild("work", () => Promise.reject(new Error("no database")));
    const a = cluster.node("a", { children: [broken] });
    const b = cluster.node("b");
    await cluster.clock.advance(3000);
    expect(a.candidate.isCoordinator()).toBe(false);
    expect(b.candidate.isCoordinator()).toBe(true);
    expect(b.log).toEqual(["start 2"]);
    await cluster.clock.advance(60_000);
    expect(b.candidate.isCoordinator()).toBe(true);
    expect(a.candidate.state).toBe("running");
  });
});

test("a node whose children could not be kept alive does not stand for unfitForMs, whatever maxHealthFailures is", async () => {
  const broken = functionChild("work", () => Promise.reject(new Error("no database")));
  cluster.node("a", { children: [broken], unfitForMs: 8000, election: { maxHealthFailures: 3 } });
  await cluster.clock.advance(7900);
  expect(cluster.events("became_leader")).toEqual([{ node: "a", term: 1 }]);
  await cluster.clock.advance(2000);
  expect(cluster.events("became_leader").length).toBeGreaterThan(1);
});

describe("Automatic failover when coordinator fails", () => {
  test("Failover on coordinator crash", async () => {
    const a = cluster.node("a");
    await cluster.clock.advance(100);
    const b = cluster.node("b");
    await cluster.clock.advance(7000);
    a.clock.kill();
    await cluster.clock.advance(10_000);
    expect(b.candidate.isCoordinator()).toBe(true);
    expect(b.log).toEqual(["start 2"]);
    expect(cluster.events("leader_down")).toEqual([{ node: "b", leader: "a" }]);
  });

  test("Failover on coordinator restart", async () => {
    const a = cluster.node("a");
    await cluster.clock.advance(100);
    const b = cluster.node("b");
    await cluster.clock.advance(7000);
    void a.candidate.stop();
    await cluster.clock.advance(5000);
    expect(b.log).toEqual(["start 2"]);
    expect(a.log).toEqual(["start 1", "stop 1"]);
  });

  test("Original coordinator becomes standby after failover", async () => {
    const a = cluster.node("a");
    await cluster.clock.advance(100);
    const b = cluster.node("b");
    await cluster.clock.advance(1000);
    void a.candidate.stop();
    await cluster.clock.advance(1000);
    const again = cluster.node("a");
    await cluster.clock.advance(20_000);
    expect(again.candidate.isCoordinator()).toBe(false);
    expect(again.candidate.status()?.leaderId).toBe("b");
    expect(b.candidate.isCoordinator()).toBe(true);
    expect(b.log).toEqual(["start 2"]);
  });
});

describe("Only one coordinator exists at any time", () => {
  test("No split-brain during normal operation", async () => {
    const nodes = ["a", "b", "c", "d", "e"].map((id) => cluster.node(id));
    await cluster.clock.advance(1000);
    expect(cluster.coordinators()).toHaveLength(1);
    const [leader] = cluster.coordinators();
    expect(nodes.map(({ candidate }) => candidate.status()?.leaderId)).toEqual(Array(5).fill(leader));
    expect(nodes.filter(({ log }) => log.length > 0)).toHaveLength(1);
  });

  test("Split-brain resolution after network partition", async () => {
    const a = cluster.node("a");
    await cluster.clock.advance(100);
    const b = cluster.node("b");
    await cluster.clock.advance(100);
    // Cut off from the store and from its own timers, like a machine that hangs; the other side elects.
    a.clock.pause();
    await cluster.clock.advance(10_000);
    expect(b.candidate.isCoordinator()).toBe(true);
    a.clock.resume();
    expect(a.candidate.isCoordinator()).toBe(false);
    await cluster.clock.advance(10_000);
    expect(cluster.coordinators()).toEqual(["b"]);
    expect(a.log).toEqual(["start 1", "stop 1"]);
    expect(a.candidate.status()?.leaderId).toBe("b");
  });
});

describe("Takeover delay prevents rapid leader changes", () => {
  const times = { takeoverDelayMs: 1000, ttlMs: 2000 };

  /**
   * One node coordinates and one stands by; the first hangs for `lastsMs`, and then there is enough time for
   * everything.
   */
  async function hiccup(lastsMs: number): Promise<readonly (readonly string[])[]> {
    const a = cluster.node("a", times);
    await cluster.clock.advance(100);
    const b = cluster.node("b", times);
    await cluster.clock.advance(2000);
    a.clock.pause();
    await cluster.clock.advance(lastsMs);
    a.clock.resume();
    await cluster.clock.advance(20_000);
    return [a.log, b.log];
  }

  test("Takeover delay prevents flapping: a pause within the lease changes nothing", async () => {
    expect(await hiccup(1500)).toEqual([["start 1"], []]);
  });

  // From before its lease is over by its own clock, until right before the others may stand.
  test.each([1700, 1800, 1900, 1980, 2000, 2020, 2100, 2500, 2900])(
    "Takeover delay prevents flapping: a coordinator that recovers after %d ms, before others stand, stays",
    async (lastsMs) => {
      const [a, b] = await hiccup(lastsMs);
      expect(b).toEqual([]);
      expect(a?.at(-1)).toMatch(/^start [12]$/);
    },
  );

  test.each([1700, 1800, 1900, 1980, 2000, 2020, 2100, 2500, 2750])(
    "Takeover delay prevents flapping: a coordinator cut off from the store for %d ms stays",
    async (lastsMs) => {
      const cut = cutOff();
      const a = cluster.node("a", times, cut.elector);
      await cluster.clock.advance(100);
      const b = cluster.node("b", times);
      await cluster.clock.advance(2000);
      cut.isCut = true;
      await cluster.clock.advance(lastsMs);
      cut.isCut = false;
      await cluster.clock.advance(20_000);
      expect(b.log).toEqual([]);
      expect(a.log.at(-1)).toMatch(/^start [12]$/);
    },
  );

  test.each([3200, 3520, 5000, 9000])(
    "Takeover delay prevents flapping: a coordinator that hangs for %d ms is replaced, once",
    async (lastsMs) => {
      const [a, b] = await hiccup(lastsMs);
      expect(a).toEqual(["start 1", "stop 1"]);
      expect(b).toEqual(["start 2"]);
    },
  );

  test("Configurable takeover delay", async () => {
    const { takeoverDelayMs } = readEnvironment({ COORDINATOR_TAKEOVER_DELAY: "2000" });
    expect(takeoverDelayMs).toBe(2000);
    const a = cluster.node("a", { ttlMs: 2000 });
    await cluster.clock.advance(100);
    const b = cluster.node("b", { ttlMs: 2000, takeoverDelayMs });
    await cluster.clock.advance(100);
    a.clock.kill();
    await cluster.clock.advance(2020 + 1900);
    expect(b.log).toEqual([]);
    await cluster.clock.advance(200);
    expect(b.log).toEqual(["start 2"]);
  });
});

describe("Coordinator election emits telemetry events", () => {
  test("Telemetry on becoming leader", async () => {
    cluster.node("a");
    await cluster.clock.advance(100);
    expect(channelName("became_leader")).toBe("tenure:coordinator:became_leader");
    const message = cluster.messages.find(({ event }) => event === "became_leader");
    expect(message?.metadata).toEqual({ node: "a", term: 1 });
    expect(message?.measurements["time"]).toBeGreaterThan(1e12);
  });

  test("Telemetry on losing leadership", async () => {
    const { clock } = cluster.node("a");
    await cluster.clock.advance(100);
    clock.pause();
    await cluster.clock.advance(10_000);
    clock.resume();
    await cluster.clock.advance(100);
    const message = cluster.messages.find(({ event }) => event === "lost_leadership");
    expect(message?.metadata).toEqual({ node: "a", reason: "lapsed" });
    expect(message?.measurements["time"]).toBeGreaterThan(1e12);
  });

  test("Telemetry on leader change detection", async () => {
    const a = cluster.node("a");
    await cluster.clock.advance(100);
    cluster.node("b");
    const c = cluster.node("c");
    await cluster.clock.advance(100);
    void a.candidate.stop();
    await cluster.clock.advance(1000);
    const newLeader = cluster.coordinators()[0];
    const watcher = c.candidate.isCoordinator() ? "b" : "c";
    expect(cluster.events("leader_changed").filter(({ node }) => node === watcher)).toEqual([
      { node: watcher, previous_leader: null, new_leader: "a" },
      { node: watcher, previous_leader: "a", new_leader: newLeader },
    ]);
  });
});

describe("Application supervision tree includes CoordinatorCandidate", () => {
  test("CoordinatorCandidate added to supervision tree: a candidate that crashes is restarted", async () => {
    let broken = 2;
    const { candidate, log } = cluster.node("a", {}, (elector) => {
      return new Proxy(elector, {
        get(target, name: keyof Elector) {
          // Not an answer of any kind, but a defect.
          if (name === "watch" && broken-- > 0) throw new TypeError("a defect");
          const value = Reflect.get(target, name) as unknown;
          return typeof value === "function" ? (value.bind(target) as unknown) : value;
        },
      });
    });
    await cluster.clock.advance(10_000);
    expect(candidate.state).toBe("running");
    expect(log).toEqual(["start 1"]);
  });

  test("a candidate that can never succeed fails after a few attempts, with the reason", async () => {
    const { candidate, elector } = cluster.node("b", { nodeId: "b", ttlMs: 200 });
    await cluster.clock.advance(60_000);
    expect(candidate.state).toBe("failed");
    const end = await candidate.ended();
    expect(end).toMatchObject({ kind: "gave-up", error: { cause: { code: "INVALID_TTL" } } });
    expect((await elector.leader("coordinator")).leader).toBe(null);
  });

  test("Static cluster_coordinator config removed: cluster_coordinator is ignored, with one warning", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const a = cluster.node("a", { cluster_coordinator: false });
    cluster.node("b", { cluster_coordinator: true });
    readEnvironment({ CLUSTER_COORDINATOR: "true" });
    await cluster.clock.advance(1000);
    expect(a.candidate.isCoordinator()).toBe(true);
    expect(warn).toHaveBeenCalledTimes(1);
    expect(warn.mock.calls[0]?.[0]).toContain("cluster_coordinator is ignored");
    warn.mockRestore();
  });
});

describe("Static cluster coordinator assignment", () => {
  test("Remove cluster_coordinator from config: the election alone decides, whatever cluster_coordinator says", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const { eligible } = readEnvironment({ CLUSTER_COORDINATOR: "false" });
    expect(eligible).toBe(true);
    const a = cluster.node("a", { eligible, cluster_coordinator: false });
    await cluster.clock.advance(100);
    const b = cluster.node("b", { cluster_coordinator: true });
    await cluster.clock.advance(10_000);
    expect(a.candidate.isCoordinator()).toBe(true);
    expect(b.candidate.isCoordinator()).toBe(false);
    const none = cluster.node("c", { eligible: false, cluster_coordinator: true });
    expect(none.candidate.state).toBe("ineligible");
    warn.mockRestore();
  });
});

test("a standby whose heartbeats are refused still knows which node coordinates", async () => {
  const { candidate } = cluster.node("a", {}, (elector) =>
    Object.assign(Object.create(elector) as typeof elector, {
      heartbeat: () => Promise.reject(new Error("not allowed")),
      leader: () => Promise.resolve({ leader: null, term: 0 }),
    }),
  );
  await cluster.clock.advance(6000);
  expect(candidate.state).toBe("running");
  const checks = cluster.events("election_check");
  expect(checks).toHaveLength(2);
  expect(checks.every(({ answered }) => answered === undefined)).toBe(true);
});
