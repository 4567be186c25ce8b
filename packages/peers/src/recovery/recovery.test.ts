/** Recovery from a lost majority, over real voters and decision logs in one process. */
import { MemoryStore } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { DecisionLog } from "../decisions/decision-log.js";
import { ResourceManager } from "../decisions/resource-manager.js";
import { OwnRecords } from "../disk/own-records.js";
import { StoredDisk } from "../disk/stored-disk.js";
import { Uptime } from "../disk/uptime.js";
import { decideCandidacy } from "../protocol/candidacy-decision.js";
import type { ActiveMember, Configuration, PeerTransport } from "../protocol/messages.js";
import { Voter } from "../protocol/voter.js";
import { Recovery, RecoveryRefusedError, TERM_MARGIN } from "./recovery.js";

const TTL_MS = 1000;

interface Server {
  readonly voter: Voter;
  readonly log: DecisionLog;
  readonly recovery: Recovery;
  readonly disk: StoredDisk;
  active: ActiveMember[];
}

/** Five electors, a to e; those in `down` do not answer. */
class Electors {
  readonly clock = new VirtualClock();
  readonly servers = new Map<string, Server>();
  readonly down = new Set<string>();
  /** Runs before a call arrives. */
  onCall: (call: string) => void | Promise<void> = () => {};

  static async of(names: string): Promise<Electors> {
    const world = new Electors();
    for (const name of names) await world.#add(name);
    const members = Object.fromEntries(
      [...world.servers].map(([name, { disk }]) => [name, { endpoint: name, disk: disk.id }]),
    );
    const config: Configuration = { cluster: "c", epoch: { term: 7, n: 1 }, members };
    for (const { voter } of world.servers.values()) await voter.adopt(config);
    return world;
  }

  at(name: string): Server {
    return this.servers.get(name) as Server;
  }

  async #add(name: string): Promise<void> {
    const { clock } = this;
    const records = await OwnRecords.open(new MemoryStore());
    const disk = await StoredDisk.open(records);
    const voter = new Voter({
      identity: name,
      endpoint: name,
      disk,
      clock,
      ttlMs: TTL_MS,
      driftRatio: 0.01,
      founder: null,
      isLeading: () => false,
      onChange: () => {},
      onOtherCluster: () => {},
    });
    const manager = new ResourceManager(records, null);
    const log = new DecisionLog({ records, uptime: new Uptime(records, clock), manager });
    const reach = async (to: string, verb: string): Promise<Server> => {
      await this.onCall(`${name} ${to} ${verb}`);
      if (this.down.has(to)) throw new Error("connection refused");
      return this.at(to);
    };
    const transport: PeerTransport = {
      acquire: async (to, request) => (await reach(to, "acquire")).voter.acquire(request),
      renew: async (to, request) => (await reach(to, "renew")).voter.renew(request),
      release: async (to, request) => (await reach(to, "release")).voter.release(request),
      state: async (to) => (await reach(to, "state")).voter.state(),
    };
    const recovery = new Recovery({
      self: { identity: name, endpoint: name, disk: disk.id },
      ttlMs: TTL_MS,
      clock,
      voter,
      transport,
      membership: { active: () => this.at(name).active },
      log,
      calls: {
        held: async (to, { term, which, after }) => ({
          from: { identity: to, disk: this.at(to).disk.id },
          value: await (await reach(to, "held")).log.page(term, which, after),
        }),
      },
      probe: async (to) => {
        await reach(to, "probe");
        return "it answers";
      },
    });
    this.servers.set(name, { voter, log, recovery, disk, active: [] });
  }
}

describe("a recovery from a lost majority", () => {
  let world: Electors;
  beforeEach(async () => {
    world = await Electors.of("abcde");
    for (const name of "cde") world.down.add(name);
  });
  const recover = async (name: string, ...lost: readonly string[]): Promise<void> => {
    const { recovery } = world.at(name);
    await recovery.carryOut(await recovery.plan(lost));
  };
  const electors = (name: string): readonly string[] =>
    Object.keys(world.at(name).voter.config?.members ?? {});
  const why = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => "allowed",
      (error: unknown) => {
        expect(error).toBeInstanceOf(RecoveryRefusedError);
        return (error as Error).message;
      },
    );

  it("a recovery makes its server the only elector, far above every known term, and the others adopt that", async () => {
    await recover("a", "c", "d", "e");
    expect(world.at("a").voter.config?.epoch).toEqual({ term: 7 + TERM_MARGIN, n: 0 });
    for (const name of "ab") expect(electors(name)).toEqual(["a"]);
  });

  it("returning electors cannot form the old electorate after a recovery: they find the newer one without them", async () => {
    await recover("a", "c", "d", "e");
    world.down.clear();
    for (const name of "cde") {
      const { voter } = world.at(name);
      const states = Array.from("abcde").map((each) => world.at(each).voter.state());
      const decision = decideCandidacy(voter.state(), voter.config as Configuration, states);
      expect(decision).toMatchObject({ kind: "stand-back", why: "not-an-elector" });
      expect(Object.keys(decision.config.members)).toEqual(["a"]);
    }
    // No survivor grants one of them anything in the name of the old electorate.
    const old = world.at("c").voter.config as Configuration;
    const request = { candidateId: "c", candidateEndpoint: "c", term: 2 ** 30, ttlMs: TTL_MS };
    const asked = { ...request, cluster: "c", epoch: old.epoch };
    for (const name of "ab") {
      await world.clock.advance(2 * TTL_MS);
      expect(await world.at(name).voter.acquire(asked)).toMatchObject({ granted: false });
    }
  });

  it("a recovery is refused while a lost elector answers or has announced itself, or a survivor does not answer", async () => {
    const { recovery } = world.at("a");
    world.down.delete("e");
    expect(await why(recovery.plan(["c", "d", "e"]))).toContain("e at e is not lost: it answers");
    world.down.add("e");
    world.at("a").active = [{ identity: "d", endpoint: "d", disk: "d" }];
    expect(await why(recovery.plan(["c", "d", "e"]))).toContain("d announced itself");
    world.at("a").active = [];
    world.down.add("b");
    expect(await why(recovery.plan(["c", "d", "e"]))).toContain("b at b does not answer");
    expect(await why(recovery.plan(["b", "c", "d", "e"]))).toBe("allowed");
    for (const name of "ab") expect(electors(name)).toHaveLength(5);
  });

  it("a recovery is refused if a majority is left, for unknown servers or itself, and while a lease is held", async () => {
    const { recovery, voter } = world.at("a");
    expect(await why(recovery.plan(["c", "d"]))).toContain("are a majority");
    expect(await why(recovery.plan(["c", "d", "x"]))).toContain("x is no elector");
    expect(await why(recovery.plan(["a", "c", "d"]))).toContain("this server answers");
    const { epoch } = voter.config as Configuration;
    const lease = { candidateId: "b", candidateEndpoint: "b", term: 9, ttlMs: TTL_MS, cluster: "c", epoch };
    expect((await world.at("b").voter.acquire(lease)).granted).toBe(true);
    expect(await why(recovery.plan(["c", "d", "e"]))).toContain("b holds a lease of term 9");
    await world.clock.advance(2 * TTL_MS);
    expect(await why(recovery.plan(["c", "d", "e"]))).toBe("allowed");
  });

  it("one of two concurrent recoveries fails, at whichever call the second begins", async () => {
    // At every call of the first recovery the other survivor begins a second one, when the leases of the first are
    // over.
    // Neither learns of the other's electorate: only the votes keep them apart.
    for (const moment of ["acquire", "held", "store"]) {
      world = await Electors.of("abcde");
      for (const name of "cde") world.down.add(name);
      let second: string | null = null;
      const interfere = async (): Promise<void> => {
        if (second !== null) return;
        second = "begun";
        await world.clock.advance(2 * TTL_MS);
        second = await why(recover("b", "c", "d", "e"));
      };
      world.onCall = async (call) => {
        if (call.endsWith(" renew")) throw new Error("lost on the way");
        if (call === `a b ${moment}`) await interfere();
      };
      const { voter } = world.at("a");
      const renew = voter.renew.bind(voter);
      voter.renew = async (request) => {
        if (moment === "store") await interfere();
        return renew(request);
      };
      const first = await why(recover("a", "c", "d", "e"));
      expect([moment, first === "allowed", second === "allowed"]).toSatisfy(
        ([, a, b]: readonly unknown[]) => a !== b,
      );
      const stored = ["a", "b"].filter((name) => electors(name).join() === name);
      expect(stored).toEqual([first === "allowed" ? "a" : "b"]);
    }
  });

  it("a recovery keeps the decisions that any survivor remembers, and old coordinators are no longer obeyed", async () => {
    // Final at b and lost electors; remembered in two terms; known as final only by b.
    await world.at("b").log.remember({ txnId: "t1", decision: "commit", term: 5 });
    await world.at("a").log.remember({ txnId: "t2", decision: "abort", term: 4 });
    await world.at("b").log.remember({ txnId: "t2", decision: "commit", term: 6 });
    await world.at("b").log.take([{ txnId: "t3", decision: "abort", term: 3, doneForMs: null }]);
    await recover("a", "c", "d", "e");
    const { log } = world.at("a");
    expect(log.get("t1")).toMatchObject({ decision: "commit" });
    expect(log.get("t2")).toMatchObject({ decision: "commit" });
    expect(log.get("t3")).toMatchObject({ decision: "abort", isFinal: true });
    for (const name of "ab")
      expect(await world.at(name).log.remember({ txnId: "late", decision: "abort", term: 8 })).toMatchObject({
        kind: "stale",
      });
  });

  it("a recovery that fails in between leaves the old electorate, and can be repeated at once", async () => {
    world.onCall = (call) => {
      if (call === "a b held") throw new Error("connection reset");
    };
    const { recovery } = world.at("a");
    await expect(recovery.carryOut(await recovery.plan(["c", "d", "e"]))).rejects.toThrow("connection reset");
    for (const name of "ab") expect(electors(name)).toHaveLength(5);
    world.onCall = () => {};
    await recover("b", "c", "d", "e");
    expect(electors("b")).toEqual(["b"]);
  });
});
