/** Decisions among servers in one process: whatever fails in between, no two coordinators decide differently. */
import { MemoryStore } from "@tenure/core";
import { beforeEach, describe, expect, it } from "vitest";
import { OwnRecords } from "../disk/own-records.js";
import type { TxnDecision } from "./decision.js";
import { type DecidingServer, Deciders, electorateOf, LIMIT_MS } from "./deciders.test-kit.js";
import { ResourceManager } from "./resource-manager.js";

const NAMES = ["a", "b", "c"];

describe("decisions of a cluster", () => {
  let world: Deciders;
  beforeEach(async () => {
    world = await Deciders.of("abc");
  });
  const at = (name: string): DecidingServer => world.at(name);

  it("a decision is applied by every resource manager once, and deciding the same again is a no-op", async () => {
    const final = { kind: "final", decision: "commit", pending: [] };
    expect(await at("a").decider.settle("t", "commit", 1)).toEqual(final);
    expect(await at("a").decider.settle("t", "commit", 1)).toEqual(final);
    for (const name of NAMES) expect(at(name).applied).toEqual([{ txnId: "t", decision: "commit", term: 1 }]);
  });

  it("a decision does not change: a later opposite request returns the first decision", async () => {
    await at("a").decider.settle("t", "commit", 1);
    expect(await at("b").decider.settle("t", "abort", 2)).toMatchObject({
      kind: "final",
      decision: "commit",
    });
  });

  it("no decision is made without a majority", async () => {
    world.isolate("a");
    expect(await at("a").decider.settle("t", "commit", 1)).toEqual({ kind: "no-majority" });
    expect(at("a").applied).toEqual([]);
    expect(await at("b").decider.settle("t", "abort", 2)).toMatchObject({ decision: "abort" });
    world.cut.clear();
    // The old coordinator comes back and has to learn the decision.
    expect(await at("a").decider.settle("t", "commit", 3)).toMatchObject({ decision: "abort" });
  });

  it("a decision of a coordinator that died is found by the next one if a majority had stored it", async () => {
    world.remembers = 1;
    const first = await at("a").decider.settle("t", "commit", 1);
    expect(first).toMatchObject({ kind: "final", decision: "commit" });
    world.isolate("a");
    world.remembers = Number.POSITIVE_INFINITY;
    expect(await at("c").decider.settle("t", "abort", 2)).toMatchObject({ decision: "commit" });
  });

  it("a decision that only a dead coordinator remembers is superseded, and the returning coordinator learns it", async () => {
    world.remembers = 0;
    expect(await at("a").decider.settle("t", "commit", 1)).toEqual({ kind: "no-majority" });
    world.remembers = Number.POSITIVE_INFINITY;
    world.isolate("a");
    expect(await at("b").decider.settle("t", "abort", 2)).toMatchObject({ decision: "abort" });
    world.cut.clear();
    expect(await at("a").decider.settle("t", "commit", 3)).toMatchObject({ decision: "abort" });
  });

  it("a repeated request in the same term keeps to the decision of the first", async () => {
    world.remembers = 0;
    expect(await at("a").decider.settle("t", "commit", 1)).toEqual({ kind: "no-majority" });
    world.remembers = Number.POSITIVE_INFINITY;
    expect(await at("a").decider.settle("t", "abort", 1)).toMatchObject({
      kind: "final",
      decision: "commit",
    });
  });

  it("requests of an old coordinator are stale once a newer one has asked", async () => {
    await at("b").decider.settle("t1", "abort", 2);
    expect(await at("a").decider.settle("t2", "commit", 1)).toEqual({ kind: "stale", term: 2 });
    expect(await at("c").manager.apply({ txnId: "t3", decision: "commit", term: 1 })).toEqual({
      kind: "stale",
      term: 2,
    });
  });

  it("two coordinators cannot make different decisions, in any order of their steps", async () => {
    for (let seed = 0; seed < 64; seed++) {
      const txnId = `t${seed}`;
      const terms = [2 * seed + 10, 2 * seed + 11];
      world.cut.clear();
      for (const [index, pair] of ["a b", "a c", "b a", "b c"].entries())
        if ((seed >> index) & 1) world.cut.add(pair);
      const [x, y] = await Promise.all([
        at("a").decider.settle(txnId, "commit", terms[seed & 1] ?? 0),
        at("b").decider.settle(txnId, "abort", terms[1 - (seed & 1)] ?? 0),
      ]);
      if (x.kind === "final" && y.kind === "final") expect(x.decision).toBe(y.decision);
      const all = NAMES.flatMap((name) => at(name).manager.applied(txnId)?.decision ?? []);
      expect(new Set(all).size).toBeLessThan(2);
    }
  });

  it("one silent elector does not delay a decision: a majority is enough", async () => {
    world.silent.add("c");
    world.managers = ["a", "b"];
    // Without advancing time.
    expect(await at("a").decider.settle("t", "commit", 1)).toMatchObject({ kind: "final", pending: [] });
  });

  it("a final decision holds, whatever another elector was asked to remember in a later term", async () => {
    world = await Deciders.of("abcde");
    for (const name of "de") world.isolate(name);
    await at("b").log.take([{ txnId: "t", decision: "commit", term: 1, doneForMs: null }]);
    await at("c").log.remember({ txnId: "t", decision: "abort", term: 5 });
    expect(await at("a").decider.settle("t", "abort", 6)).toMatchObject({ decision: "commit" });
  });

  it("a decision reaches a resource manager that was away when it is back, even through the next coordinator", async () => {
    world.isolate("c");
    expect(await at("a").decider.settle("t", "commit", 1)).toMatchObject({ pending: ["c"] });
    world.cut.clear();
    world.isolate("a");
    const leading = new AbortController();
    at("b").decider.lead(2, leading.signal);
    await world.clock.advance(100);
    expect(at("c").applied).toEqual([{ txnId: "t", decision: "commit", term: 2 }]);
    world.cut.clear();
    await world.clock.advance(3 * LIMIT_MS);
    // Every server has the decision and knows that it is final.
    for (const name of NAMES) expect(at(name).log.open()).toEqual([]);
    leading.abort();
    await at("b").decider.stopped();
  });

  it("a decision of an old coordinator is stale after the new one has read the electors", async () => {
    const leading = new AbortController();
    at("b").decider.lead(2, leading.signal);
    await world.clock.advance(100);
    expect(await at("a").decider.settle("t", "commit", 1)).toEqual({ kind: "stale", term: 2 });
    leading.abort();
    await at("b").decider.stopped();
  });

  it("a server that was away learns that a decision is done, without another coordinator", async () => {
    const leading = new AbortController();
    at("a").decider.lead(1, leading.signal);
    await at("a").decider.settle("t", "commit", 1);
    world.isolate("c");
    await world.clock.advance(2 * LIMIT_MS);
    expect(NAMES.map((name) => at(name).log.open().length)).toEqual([0, 0, 1]);
    world.cut.clear();
    await world.clock.advance(2 * LIMIT_MS);
    expect(NAMES.map((name) => at(name).log.open().length)).toEqual([0, 0, 0]);
    leading.abort();
    await at("a").decider.stopped();
  });

  it("a large number of decisions is transferred in pages", async () => {
    const many = Array.from({ length: 1201 }, (_, i) => `t${String(i).padStart(4, "0")}`);
    await at("b").log.take(
      many.map((txnId) => ({ txnId, decision: "commit" as const, term: 1, doneForMs: null })),
    );
    const leading = new AbortController();
    at("a").decider.lead(2, leading.signal);
    await world.clock.advance(100);
    expect(at("c").applied.map(({ txnId }) => txnId)).toEqual(many);
    leading.abort();
    await at("a").decider.stopped();
  });

  it("a server that was restarted after the first page still returns all later pages", async () => {
    const many = Array.from({ length: 700 }, (_, i) => `t${String(i).padStart(4, "0")}`);
    await at("b").log.take(
      many.map((txnId) => ({ txnId, decision: "commit" as const, term: 1, doneForMs: null })),
    );
    const first = await at("b").log.page(1, "all", "");
    expect(first).toMatchObject({ next: "t0499" });
    const { log } = await world.start("b", at("b").config);
    const second = await log.page(1, "all", "t0499");
    expect(second).toMatchObject({ next: null });
    expect(second.kind === "promised" && second.decisions.map(({ txnId }) => txnId)).toEqual(many.slice(500));
  });

  it("answers of an elector with another disk than the electorate's do not count", async () => {
    world.isolate("c");
    const { config } = at("a");
    const members = { ...config.members, b: { endpoint: "b", disk: "lost" } };
    at("a").config = { ...config, members };
    expect(await at("a").decider.settle("t", "commit", 1)).toEqual({ kind: "no-majority" });
  });
});

describe("decisions and changes of the electorate", () => {
  /** d and e have joined and know no decision yet. */
  let world: Deciders;
  const at = (name: string): DecidingServer => world.at(name);
  const ended = AbortSignal.abort(new Error("no sweeps"));
  beforeEach(async () => {
    world = await Deciders.of("abcde", "abc");
    world.managers = ["a"];
  });

  async function mayStep(name: string): Promise<boolean> {
    const { decider, config } = at(name);
    for (let round = 0; round < 3 && !decider.mayStep(config); round++) await decider.stopped();
    return decider.mayStep(config);
  }

  it("the next step waits until a majority of the current electorate holds every final decision", async () => {
    at("a").decider.lead(1, ended);
    world.isolate("c");
    await at("a").decider.settle("t", "commit", 1);
    // a, b, d and e: two steps from a, b and c, which made the decision.
    at("a").config = electorateOf("abde", 1, 1);
    world.cut.add("a d").add("a e");
    expect(await mayStep("a")).toBe(false);
    world.cut.delete("a d");
    expect(await mayStep("a")).toBe(true);
    expect(at("d").log.get("t")).toMatchObject({ decision: "commit", isFinal: true });
    expect(at("e").log.get("t")).toBeNull();
  });

  it("a step that waits gives its reason: which elector does not answer, or which transaction is not final", async () => {
    at("a").decider.lead(1, ended);
    const { decider, config } = at("a");
    world.cut.add("a b").add("a c");
    expect(await mayStep("a")).toBe(false);
    expect(decider.holdStep(config)).toMatch(/^no majority of the electorate shows .*\(b: cut; c: cut\)$/);
    await decider.stopped();
    world.cut.clear();
    await at("b").log.remember({ txnId: "t", decision: "commit", term: 1 });
    world.remembers = 0;
    expect(await mayStep("a")).toBe(false);
    expect(decider.holdStep(config)).toBe("transaction t cannot be made final: no-majority");
  });

  it("a coordinator that has missed a decision carries it over too", async () => {
    world.isolate("c");
    await at("a").decider.settle("t", "commit", 1);
    world.cut.clear();
    at("c").config = electorateOf("abcd", 2, 1);
    at("c").decider.lead(2, ended);
    world.cut.add("c a");
    expect(await mayStep("c")).toBe(true);
    for (const name of "bcd") expect(at(name).log.get("t")).toMatchObject({ isFinal: true });
  });

  it("a decision that only the slowest elector remembers does not delay the next step", async () => {
    at("a").decider.lead(2, ended);
    // As after a coordinator that died when one other had stored the decision. Of b and c, b answers first.
    await at("c").log.remember({ txnId: "t", decision: "commit", term: 1 });
    expect(await mayStep("a")).toBe(true);
    for (const name of "ab") expect(at(name).log.get("t")).toMatchObject({ decision: "commit" });
  });

  it("a decision that one elector remembers is superseded by the decision of a majority", async () => {
    at("a").decider.lead(3, ended);
    await at("c").log.remember({ txnId: "t", decision: "commit", term: 1 });
    for (const name of "ab") await at(name).log.remember({ txnId: "t", decision: "abort", term: 2 });
    expect(await mayStep("a")).toBe(true);
    for (const name of "abc") expect(at(name).log.get("t")).toMatchObject({ decision: "abort" });
  });

  it("a sweep completes a decision that only the slowest elector remembers", async () => {
    const leading = new AbortController();
    at("a").decider.lead(2, leading.signal);
    await at("c").log.remember({ txnId: "t", decision: "commit", term: 1 });
    await world.clock.advance(3 * LIMIT_MS);
    expect(at("a").log.get("t")).toMatchObject({ decision: "commit", isFinal: true });
    leading.abort();
  });

  it("a request to an electorate that changed meanwhile is repeated", async () => {
    world.isolate("c");
    world.onCall = (call) => {
      if (call === "a b remember") at("a").config = electorateOf("acd", 1, 2);
    };
    expect(await at("a").decider.settle("t", "commit", 1)).toMatchObject({ kind: "final" });
    expect(at("d").log.get("t")).toMatchObject({ decision: "commit" });
  });
});

describe("a resource manager", () => {
  it("a resource manager keeps the highest term across a restart, and repeats a decision that failed", async () => {
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
