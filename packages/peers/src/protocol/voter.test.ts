import { VirtualClock } from "@tenure/core/testing";
import { describe, expect, it } from "vitest";
import { MemoryDisk } from "./cluster.test-kit.js";
import type { Configuration } from "./messages.js";
import { Voter } from "./voter.js";

const TTL_MS = 1000;
const HOLD_MS = 1010;

const config: Configuration = {
  cluster: "cluster",
  epoch: { term: 0, n: 0 },
  members: Object.fromEntries(["v", "a", "b", "c"].map((name) => [name, { endpoint: name, disk: "disk" }])),
};

function open(disk = new MemoryDisk("disk"), clock = new VirtualClock()) {
  const voter = new Voter({
    identity: "v",
    endpoint: "v",
    disk,
    clock,
    ttlMs: TTL_MS,
    driftRatio: 0.01,
    founder: null,
    isLeading: () => false,
    onOtherCluster: () => {},
    onChange: () => {},
  });
  return { voter, disk, clock };
}

function acquire(candidateId: string, term: number) {
  const { cluster, epoch } = config;
  return { candidateId, candidateEndpoint: candidateId, term, ttlMs: TTL_MS, cluster, epoch };
}

function renew(leaderId: string, term: number, n: number) {
  const newer = { ...config, epoch: { term, n } };
  return { leaderId, leaderEndpoint: leaderId, term, ttlMs: TTL_MS, config: newer };
}

describe("Voter", () => {
  it("a voter stores its vote on disk before it answers", async () => {
    const { voter, disk } = open();
    let write = (): void => {};
    disk.gate = new Promise((resolve) => {
      write = resolve;
    });
    let isAnswered = false;
    const answer = voter.acquire(acquire("a", 1)).then((verdict) => {
      isAnswered = true;
      return verdict;
    });
    await new VirtualClock().advance(1);
    expect(isAnswered).toBe(false);
    expect(voter.state().term).toBe(0);
    write();
    expect((await answer).state).toMatchObject({ term: 1, lease: { leaderId: "a", term: 1 } });
    expect(disk.contents.vote).toEqual({ term: 1, holderId: "a", holderEndpoint: "a", ttlMs: TTL_MS });
  });

  it("a voter whose disk fails does not answer, and keeps its state", async () => {
    const { voter, disk } = open();
    disk.write = () => Promise.reject(new Error("no space left"));
    await expect(voter.acquire(acquire("a", 1))).rejects.toThrow("no space left");
    expect(voter.state()).toMatchObject({ term: 0, lease: null });
  });

  it("a voter decides one request after the other: of two concurrent candidates for a term, one is granted", async () => {
    const { voter } = open();
    const verdicts = await Promise.all([voter.acquire(acquire("a", 1)), voter.acquire(acquire("b", 1))]);
    expect(verdicts.map(({ granted }) => granted)).toEqual([true, false]);
    expect(verdicts[1]).toMatchObject({ refusal: "lease-active", state: { lease: { leaderId: "a" } } });
  });

  it("each answer of a voter shows the state at its decision", async () => {
    const { voter } = open();
    const answers = [
      voter.acquire(acquire("a", 1)),
      voter.renew(renew("a", 1, 0)),
      voter.release({ leaderId: "a", term: 1 }),
      voter.acquire(acquire("b", 2)),
    ];
    const states = (await Promise.all(answers)).map(({ state }) => state);
    expect(states.map(({ term, lease, config: shown }) => [term, lease?.leaderId, shown?.epoch])).toEqual([
      [1, "a", undefined],
      [1, "a", { term: 1, n: 0 }],
      [1, undefined, { term: 1, n: 0 }],
      [1, undefined, { term: 1, n: 0 }],
    ]);
  });

  it("a voter stores nothing of a renewal that it refuses", async () => {
    const { voter, disk } = open();
    await voter.renew(renew("a", 1, 0));
    const before = disk.contents;
    // Each of these requests carries a newer electorate.
    expect(await voter.renew(renew("b", 2, 0))).toMatchObject({ refusal: "lease-active" });
    expect(await voter.renew({ ...renew("a", 1, 1), ttlMs: TTL_MS + 1 })).toMatchObject({
      refusal: "ttl-too-long",
    });
    await voter.release({ leaderId: "a", term: 1 });
    expect(await voter.renew(renew("a", 1, 2))).toMatchObject({ refusal: "released" });
    expect([disk.contents, voter.config]).toEqual([before, before.config]);
    expect(disk.writes).toBe(1);
  });

  it("a voter stores vote and configuration in one write, and writes nothing for a renewal that changes neither", async () => {
    const { voter, disk } = open();
    await voter.renew(renew("a", 1, 0));
    await voter.renew(renew("a", 1, 0));
    expect(disk.writes).toBe(1);
    expect(disk.contents.config?.epoch).toEqual({ term: 1, n: 0 });
  });

  it("a voter counts a lease from each renewal", async () => {
    const { voter, clock } = open();
    await voter.acquire(acquire("a", 1));
    await clock.advance(HOLD_MS - 1);
    await voter.renew(renew("a", 1, 0));
    await clock.advance(HOLD_MS - 1);
    expect(voter.lease()?.leftMs).toBe(1);
    await clock.advance(1);
    expect(voter.lease()).toBeNull();
  });

  it("a voter keeps the term when a lease is released", async () => {
    const { voter } = open();
    await voter.acquire(acquire("a", 7));
    const { released, state } = await voter.release({ leaderId: "a", term: 7 });
    expect([released, state.term, state.lease]).toEqual([true, 7, null]);
    expect(await voter.acquire(acquire("b", 7))).toMatchObject({ granted: false });
  });

  it("a voter stores a newer configuration before it adopts it, and adopts none of another cluster", async () => {
    const { voter, disk } = open();
    await voter.adopt(config);
    await voter.adopt({ ...config, epoch: { term: 3, n: 0 } });
    await voter.adopt({ ...config, epoch: { term: 2, n: 9 } });
    await voter.adopt({ ...config, cluster: "other", epoch: { term: 9, n: 0 } });
    expect(voter.config).toMatchObject({ cluster: "cluster", epoch: { term: 3, n: 0 } });
    expect(disk.contents.config).toEqual(voter.config);
  });
});

describe("a voter after a restart", () => {
  async function restarted() {
    const { voter, disk, clock } = open();
    await voter.acquire(acquire("a", 5));
    await clock.advance(HOLD_MS - 1);
    return open(disk, clock);
  }

  it("a restarted voter grants another candidate only after ttl and margin", async () => {
    const { voter, clock } = await restarted();
    await clock.advance(HOLD_MS - 1);
    expect(await voter.acquire(acquire("b", 6))).toMatchObject({ granted: false, refusal: "lease-active" });
    await clock.advance(1);
    expect(await voter.acquire(acquire("b", 6))).toMatchObject({ granted: true });
  });

  it("a restarted voter grants the same holder at once, and no older term", async () => {
    const { voter } = await restarted();
    expect(await voter.acquire(acquire("a", 4))).toMatchObject({ refusal: "term-stale" });
    expect(await voter.acquire(acquire("a", 6))).toMatchObject({ granted: true });
  });

  it("a restarted voter does not take its old vote as a sign that the holder lives", async () => {
    const { voter } = await restarted();
    expect(voter.lease()).not.toBeNull();
    expect(voter.ledLease()).toBeNull();
    await voter.renew(renew("a", 5, 0));
    expect(voter.ledLease()).toMatchObject({ leaderId: "a", term: 5 });
  });
});
