/** An `Election` with its hooks over a quorum of peers, in virtual time: three programs without a store. */
import { Election } from "@tenure/client";
import { VirtualClock } from "@tenure/core/testing";
import { Peer, PeerElector } from "@tenure/peers";
import type { DiskContents, PeerDisk, PeerTransport } from "@tenure/peers/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const NAMES = ["a", "b", "c"];
const TTL_MS = 1000;

function memoryDisk(id: string): PeerDisk {
  let contents: DiskContents = { vote: null, config: null };
  return {
    id,
    read: () => contents,
    write: async (change) => {
      contents = { ...contents, ...change };
    },
  };
}

describe("an election over peers", () => {
  let clock: VirtualClock;
  let peers: Map<string, Peer>;
  let elections: Map<string, Election>;
  let cut: Set<string>;
  /** In the order in which it happened. */
  let told: string[];

  beforeEach(() => {
    clock = new VirtualClock();
    peers = new Map();
    elections = new Map();
    cut = new Set();
    told = [];
    for (const name of NAMES) start(name);
  });
  afterEach(async () => {
    const stopped = Promise.all([...elections.values()].map((election) => election.stop()));
    await clock.advance(TTL_MS);
    await stopped;
    await Promise.all([...peers.values()].map((peer) => peer.stop()));
  });

  function start(name: string): void {
    const reach = (to: string): Peer => {
      if (cut.has(name) || cut.has(to)) throw new Error("cut");
      return peers.get(to) as Peer;
    };
    const transport: PeerTransport = {
      acquire: async (to, request) => reach(to).answers.acquire(request),
      renew: async (to, request) => reach(to).answers.renew(request),
      release: async (to, request) => reach(to).answers.release(request),
      state: async (to) => reach(to).answers.state(),
    };
    const members = NAMES.map((each) => ({ identity: each, endpoint: each, disk: `disk-${each}` }));
    const peer = Peer.start({
      identity: name,
      endpoint: name,
      join: NAMES,
      ttlMs: TTL_MS,
      stands: "asked",
      clock,
      random: () => NAMES.indexOf(name) / 3,
      disk: memoryDisk(`disk-${name}`),
      transport,
      membership: { active: () => members, left: () => [], leaving: false },
    });
    peers.set(name, peer);
    const election = new Election(new PeerElector({ peer }), {
      groupId: "tc",
      nodeId: name,
      ttlMs: TTL_MS,
      clock,
      random: () => 0.5,
    });
    election
      .onPromote(({ term }, signal) => {
        told.push(`${name} leads ${term}`);
        signal.addEventListener("abort", () => told.push(`${name} must stop`));
      })
      .onDemote((reason) => told.push(`${name} has stopped: ${reason}`));
    elections.set(name, election);
    void election.start();
  }

  async function led(): Promise<string> {
    for (let waited = 0; waited < 200; waited++) {
      const leaders = NAMES.filter((name) => elections.get(name)?.isLeader() === true);
      expect(leaders.length).toBeLessThan(2);
      if (leaders[0] !== undefined) return leaders[0];
      await clock.advance(50);
    }
    throw new Error("nobody leads");
  }

  it("an election over peers promotes one node; cut off, it stops before another is promoted with a higher term", async () => {
    const first = await led();
    await clock.advance(5 * TTL_MS);
    expect(told).toEqual([`${first} leads 1`]);
    cut.add(first);
    await clock.advance(1.2 * TTL_MS);
    const second = await led();
    expect(second).not.toBe(first);
    const stopped = told.findIndex((each) => each.startsWith(`${first} has stopped`));
    const next = told.findIndex((each) => each.startsWith(`${second} leads`));
    expect(told.indexOf(`${first} must stop`)).toBe(1);
    expect(stopped).toBeGreaterThan(1);
    expect(next).toBeGreaterThan(stopped);
    expect(Number(told[next]?.split(" ").at(-1))).toBeGreaterThan(1);
    cut.clear();
    await clock.advance(5 * TTL_MS);
    expect(await led()).toBe(second);
  });

  it("an election over peers that is stopped resigns its term, and another is promoted at once", async () => {
    const first = await led();
    const stopped = elections.get(first)?.stop();
    const sinceMs = clock.monotonicMs();
    await clock.advance(50);
    await stopped;
    expect(told.at(-1)).toBe(`${first} has stopped: stopped`);
    expect(await led()).not.toBe(first);
    // Not because the lease ended.
    expect(clock.monotonicMs() - sinceMs).toBeLessThan(TTL_MS);
  });
});
