/** Decisions among three servers in one process: whatever fails in between, no two coordinators decide differently. */
import { MemoryStore } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { OwnRecords } from "../disk/own-records.js";
import type { Configuration } from "../protocol/messages.js";
import { Decider, type DecisionCalls } from "./decider.js";
import type { TxnDecision } from "./decision.js";
import { DecisionLog } from "./decision-log.js";
import { ResourceManager } from "./resource-manager.js";

interface Server {
  readonly name: string;
  readonly log: DecisionLog;
  readonly manager: ResourceManager;
  readonly decider: Decider;
  readonly applied: TxnDecision[];
}

const NAMES = ["a", "b", "c"];

describe("the decisions of a cluster", () => {
  let clock: VirtualClock;
  let servers: Map<string, Server>;
  /** `from to`, whose calls fail. */
  let cut: Set<string>;
  /** Ends the coordinator right after it has told that many to remember. */
  let dies: number;
  const config: Configuration = {
    cluster: "a",
    epoch: { term: 1, n: 0 },
    members: Object.fromEntries(NAMES.map((name) => [name, { endpoint: name, disk: `disk-${name}` }])),
  };

  async function serverOf(name: string): Promise<Server> {
    const records = await OwnRecords.open(new MemoryStore());
    const applied: TxnDecision[] = [];
    const manager = new ResourceManager(records, { apply: async (decision) => void applied.push(decision) });
    const log = new DecisionLog(records, (txnId) => manager.applied(txnId));
    const to = (endpoint: string): Server => {
      if (cut.has(`${name} ${endpoint}`)) throw new Error("cut");
      return servers.get(endpoint) as Server;
    };
    const heard = async <T>(endpoint: string, work: (server: Server) => Promise<T>) => ({
      from: { identity: endpoint, disk: `disk-${endpoint}` },
      value: await work(to(endpoint)),
    });
    const calls: DecisionCalls = {
      prepare: (endpoint, txnId, term) => heard(endpoint, (server) => server.log.prepare(txnId, term)),
      remember: (endpoint, decision) =>
        heard(endpoint, (server) => {
          if (dies-- <= 0) throw new Error("dead");
          return server.log.remember(decision);
        }),
      open: (endpoint) => heard(endpoint, async (server) => server.log.open()),
      done: async (endpoint, { txnId, decision }) => to(endpoint).log.mark(txnId, decision, "isDone"),
      apply: async (endpoint, decision) => to(endpoint).manager.apply(decision),
    };
    const decider = new Decider({
      self: { identity: name, endpoint: name },
      clock,
      limitMs: 1000,
      log,
      calls,
      electorate: () => config,
      resourceManagers: () => NAMES,
      onFinal: () => {},
      onFailure: () => {},
    });
    return { name, log, manager, decider, applied };
  }

  beforeEach(async () => {
    clock = new VirtualClock();
    cut = new Set();
    dies = Number.POSITIVE_INFINITY;
    servers = new Map();
    for (const name of NAMES) servers.set(name, await serverOf(name));
  });
  const at = (name: string): Server => servers.get(name) as Server;
  const isolate = (name: string): void => {
    for (const other of NAMES) if (other !== name) cut.add(`${name} ${other}`).add(`${other} ${name}`);
  };

  it("are applied by every resource manager once, and deciding the same again is a no-op", async () => {
    const final = { kind: "final", decision: "commit", pending: [] };
    expect(await at("a").decider.settle("t", "commit", 1)).toEqual(final);
    expect(await at("a").decider.settle("t", "commit", 1)).toEqual(final);
    for (const name of NAMES) expect(at(name).applied).toEqual([{ txnId: "t", decision: "commit", term: 1 }]);
  });

  it("do not change: the opposite learns what was decided", async () => {
    await at("a").decider.settle("t", "commit", 1);
    expect(await at("b").decider.settle("t", "abort", 2)).toMatchObject({
      kind: "final",
      decision: "commit",
    });
  });

  it("are not made without a majority", async () => {
    isolate("a");
    expect(await at("a").decider.settle("t", "commit", 1)).toEqual({ kind: "no-majority" });
    expect(at("a").applied).toEqual([]);
    expect(await at("b").decider.settle("t", "abort", 2)).toMatchObject({ decision: "abort" });
    cut.clear();
    // The old one comes back, and has to learn.
    expect(await at("a").decider.settle("t", "commit", 3)).toMatchObject({ decision: "abort" });
  });

  it("of a coordinator that died in the midst of it are found by the next, if anybody could have seen them", async () => {
    dies = 1;
    const first = await at("a").decider.settle("t", "commit", 1);
    expect(first).toMatchObject({ kind: "final", decision: "commit" });
    isolate("a");
    dies = Number.POSITIVE_INFINITY;
    expect(await at("c").decider.settle("t", "abort", 2)).toMatchObject({ decision: "commit" });
  });

  it("that nobody but a dead coordinator remembers give way, and it learns so when it is back", async () => {
    dies = 0;
    expect(await at("a").decider.settle("t", "commit", 1)).toEqual({ kind: "no-majority" });
    dies = Number.POSITIVE_INFINITY;
    isolate("a");
    expect(await at("b").decider.settle("t", "abort", 2)).toMatchObject({ decision: "abort" });
    cut.clear();
    expect(await at("a").decider.settle("t", "commit", 3)).toMatchObject({ decision: "abort" });
  });

  it("asked for again in the same term keep to what was told first", async () => {
    dies = 0;
    expect(await at("a").decider.settle("t", "commit", 1)).toEqual({ kind: "no-majority" });
    dies = Number.POSITIVE_INFINITY;
    expect(await at("a").decider.settle("t", "abort", 1)).toMatchObject({
      kind: "final",
      decision: "commit",
    });
  });

  it("of an old coordinator are refused once a newer one has asked: its term is over", async () => {
    await at("b").decider.settle("t1", "abort", 2);
    expect(await at("a").decider.settle("t2", "commit", 1)).toEqual({ kind: "stale", term: 2 });
    expect(await at("c").manager.apply({ txnId: "t3", decision: "commit", term: 1 })).toEqual({
      kind: "stale",
      term: 2,
    });
  });

  it("cannot be made by two coordinators in different ways, in whatever order their steps fall", async () => {
    for (let seed = 0; seed < 64; seed++) {
      const txnId = `t${seed}`;
      const terms = [2 * seed + 10, 2 * seed + 11];
      cut.clear();
      for (const [index, pair] of ["a b", "a c", "b a", "b c"].entries())
        if ((seed >> index) & 1) cut.add(pair);
      const [x, y] = await Promise.all([
        at("a").decider.settle(txnId, "commit", terms[seed & 1] ?? 0),
        at("b").decider.settle(txnId, "abort", terms[1 - (seed & 1)] ?? 0),
      ]);
      if (x.kind === "final" && y.kind === "final") expect(x.decision).toBe(y.decision);
      const all = NAMES.flatMap((name) => at(name).manager.applied(txnId)?.decision ?? []);
      expect(new Set(all).size).toBeLessThan(2);
    }
  });

  it("reach a resource manager that was away when it is back, by the next coordinator if need be", async () => {
    isolate("c");
    expect(await at("a").decider.settle("t", "commit", 1)).toMatchObject({ pending: ["c"] });
    cut.clear();
    isolate("a");
    const reign = new AbortController();
    at("b").decider.lead(2, reign.signal);
    await clock.advance(100);
    expect(at("c").applied).toEqual([{ txnId: "t", decision: "commit", term: 2 }]);
    cut.clear();
    await clock.advance(3000);
    // Everybody has it: nothing is open any more.
    for (const name of NAMES) expect(at(name).log.open()).toEqual([]);
    reign.abort();
    await at("b").decider.stopped();
  });

  it("are not counted from an elector whose disk is another than the electorate's", async () => {
    const { decider } = await serverOf("a");
    isolate("c");
    const members = config.members as Record<string, { endpoint: string; disk: string }>;
    members["b"] = { endpoint: "b", disk: "lost" };
    expect(await decider.settle("t", "commit", 1)).toEqual({ kind: "no-majority" });
    members["b"] = { endpoint: "b", disk: "disk-b" };
  });
});

describe("a resource manager", () => {
  it("keeps the highest term over a restart, and does a decision again that it could not write down", async () => {
    const store = new MemoryStore();
    let fails = true;
    const done: string[] = [];
    const resource = {
      apply: async ({ txnId }: TxnDecision): Promise<void> => {
        done.push(txnId);
        if (fails) throw new Error("the resource is away");
      },
    };
    const first = new ResourceManager(await OwnRecords.open(store), resource);
    await expect(first.apply({ txnId: "t", decision: "commit", term: 5 })).rejects.toThrow(
      "the resource is away",
    );
    const second = new ResourceManager(await OwnRecords.open(store), resource);
    expect(await second.apply({ txnId: "t", decision: "commit", term: 4 })).toEqual({
      kind: "stale",
      term: 5,
    });
    fails = false;
    expect(await second.apply({ txnId: "t", decision: "commit", term: 5 })).toEqual({
      kind: "applied",
      changed: true,
    });
    expect(await second.apply({ txnId: "t", decision: "abort", term: 6 })).toEqual({
      kind: "conflict",
      decision: "commit",
    });
    expect(done).toEqual(["t", "t"]);
  });
});
