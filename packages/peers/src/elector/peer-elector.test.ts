import {
  BackendUnavailableError,
  type CampaignResult,
  ClosedError,
  GroupNotFoundError,
  InvalidRequestError,
  InvalidTtlError,
  LedTerm,
  sendMoment,
  UnauthorizedError,
  type WatchEvent,
} from "@tenure/core";
import { afterEach, describe, expect, it } from "vitest";
import { Cluster, TTL_MS } from "../protocol/cluster.test-kit.js";
import { PeerElector } from "./peer-elector.js";

let cluster = new Cluster();
afterEach(async () => {
  await cluster.stop();
  cluster = new Cluster();
});

const WAIT_MS = 20_000;

/** A cluster whose peers stand only during a campaign. */
async function open(names = "abc"): Promise<(name: string) => PeerElector> {
  cluster.start(names, { stands: "asked" });
  await cluster.until(() => Array.from(names).every((name) => cluster.electorate(name) === names));
  const electors = new Map(
    Array.from(names).map((name) => [name, new PeerElector({ peer: cluster.get(name).peer })]),
  );
  return (name) => electors.get(name) as PeerElector;
}

function request(nodeId: string, rest: object = {}) {
  return { groupId: "tc", nodeId, ttlMs: TTL_MS, instanceId: `${nodeId}-1`, ...rest };
}

function claim(nodeId: string, term: number, rest: object = {}) {
  return { groupId: "tc", nodeId, term, instanceId: `${nodeId}-1`, ...rest };
}

/** Advances time until `work` is answered. */
async function run<T>(work: Promise<T>): Promise<T> {
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  void done.catch(() => {});
  await cluster.until(() => isDone);
  return done;
}

async function win(elector: PeerElector, nodeId: string): Promise<number> {
  const result = await run(elector.campaign(request(nodeId, { waitMs: WAIT_MS })));
  expect(result.kind).toBe("elected");
  return (result as CampaignResult & { kind: "elected" }).leader.term;
}

describe("a campaign at a peer", () => {
  it("a campaign is answered as elected once this peer leads", async () => {
    const elector = await open();
    const result = await run(elector("b").campaign(request("b")));
    expect(result).toMatchObject({ kind: "elected", confirmed: false, leader: { nodeId: "b", term: 1 } });
    expect(cluster.leader()).toBe("b");
  });

  it("a campaign without a wait loses to the current leader", async () => {
    const elector = await open();
    await win(elector("a"), "a");
    const result = await run(elector("b").campaign(request("b")));
    expect(result).toMatchObject({ kind: "lost", leader: { nodeId: "a", term: 1 } });
  });

  it("a waiting campaign wins after the leader has resigned, and waitedMs ends when the winning round was sent", async () => {
    const elector = await open();
    await win(elector("a"), "a");
    const sentMs = cluster.clock.monotonicMs();
    const waiting = elector("b").campaign(request("b", { waitMs: WAIT_MS }));
    await cluster.clock.advance(3 * TTL_MS);
    await run(elector("a").resign(claim("a", 1)));
    const result = await run(waiting);
    expect(result).toMatchObject({ kind: "elected", leader: { nodeId: "b", term: 2 } });
    const { waitedMs = 0 } = result as { waitedMs?: number };
    expect(waitedMs).toBeGreaterThanOrEqual(3 * TTL_MS);
    expect(waitedMs).toBeLessThanOrEqual(cluster.clock.monotonicMs() - sentMs);
  });

  it("a campaign is lost at the end of its wait", async () => {
    const elector = await open();
    await win(elector("a"), "a");
    const startMs = cluster.clock.monotonicMs();
    const result = await run(elector("b").campaign(request("b", { waitMs: 700 })));
    expect(result).toMatchObject({ kind: "lost", leader: { nodeId: "a" } });
    expect(cluster.clock.monotonicMs() - startMs).toBeGreaterThanOrEqual(700);
  });

  it("a campaign of the same instance is confirmed by its own round, and of another instance is lost", async () => {
    const elector = await open();
    await win(elector("a"), "a");
    await cluster.clock.advance(5 * TTL_MS);
    const before = cluster.get("a").peer.earnedMs();
    const again = await run(elector("a").campaign(request("a")));
    expect(again).toMatchObject({ kind: "elected", confirmed: true, leader: { term: 1 } });
    expect(cluster.get("a").peer.earnedMs()).toBeGreaterThan(before as number);
    for (const instanceId of ["a-2", undefined]) {
      expect(await run(elector("a").campaign(request("a", { instanceId })))).toMatchObject({ kind: "lost" });
    }
  });

  it("a campaign whose caller has disconnected keeps no win", async () => {
    const elector = await open();
    const gone = new AbortController();
    const campaign = elector("a").campaign(request("a", { waitMs: WAIT_MS }), { signal: gone.signal });
    gone.abort(new Error("gone"));
    await expect(campaign).rejects.toThrow("gone");
    await cluster.clock.advance(TTL_MS);
    expect(cluster.leader()).toBeNull();
    await win(elector("b"), "b");
  });
});

describe("a renewal at a peer", () => {
  it("a renewal is a quorum round sent after the call, and its deadline is never later than the peer's", async () => {
    const elector = await open();
    await win(elector("a"), "a");
    const { peer } = cluster.get("a");
    for (let i = 0; i < 20; i++) {
      await cluster.clock.advance(137);
      const sent = sendMoment(cluster.clock);
      expect(await run(elector("a").renew({ ...claim("a", 1), ttlMs: TTL_MS }))).toMatchObject({
        kind: "renewed",
      });
      const led = new LedTerm(1, cluster.clock, 0.01);
      led.extend({ sent, ttlMs: TTL_MS });
      expect(led.leftMs()).toBeLessThanOrEqual(peer.leftMs());
    }
  });

  it("a renewal fails while no majority answers, and is not-leader once the term is over", async () => {
    const elector = await open();
    await win(elector("a"), "a");
    cluster.cut("a", "bc");
    const renewal = { ...claim("a", 1), ttlMs: TTL_MS };
    await expect(run(elector("a").renew(renewal))).rejects.toBeInstanceOf(BackendUnavailableError);
    await cluster.clock.advance(TTL_MS);
    expect(await run(elector("a").renew(renewal))).toEqual({ kind: "not-leader", currentLeader: null });
  });

  it("a renewal of another term or instance is not-leader", async () => {
    const elector = await open();
    await win(elector("a"), "a");
    for (const wrong of [claim("a", 2), claim("a", 1, { instanceId: "other" })]) {
      const expected = { kind: "not-leader", currentLeader: { nodeId: "a", term: 1 } };
      expect(await run(elector("a").renew({ ...wrong, ttlMs: TTL_MS }))).toEqual(expected);
      expect(await run(elector("a").resign(wrong))).toEqual(expected);
    }
    const bare = claim("a", 1, { instanceId: undefined });
    expect(await run(elector("a").renew({ ...bare, ttlMs: TTL_MS }))).toMatchObject({ kind: "renewed" });
  });

  it("renewals in a list are answered in their order", async () => {
    const elector = await open();
    await win(elector("a"), "a");
    const renewals = [
      { ...claim("a", 1), ttlMs: TTL_MS },
      { ...claim("a", 1), groupId: "other", ttlMs: TTL_MS },
    ];
    const results = await run(elector("a").renewMany(renewals));
    expect(results.map(({ kind }) => kind)).toEqual(["renewed", "failed"]);
  });
});

it("a resign frees the group, and a repeated resign gets the same answer", async () => {
  const elector = await open();
  await win(elector("a"), "a");
  for (let i = 0; i < 2; i++) {
    expect(await run(elector("a").resign(claim("a", 1)))).toEqual({ kind: "resigned" });
  }
  expect(await run(elector("b").leader("tc"))).toEqual({ leader: null, term: 1, ageMs: 0 });
  expect(await win(elector("b"), "b")).toBe(2);
  expect(await run(elector("a").resign(claim("a", 1)))).toEqual({ kind: "resigned" });
});

describe("a read at a peer", () => {
  it("a read asks a majority, at any peer", async () => {
    const elector = await open();
    expect(await run(elector("c").leader("tc"))).toEqual({ leader: null, term: 0, ageMs: 0 });
    await win(elector("a"), "a");
    for (const name of "abc") {
      expect(await run(elector(name).leader("tc"))).toMatchObject({
        leader: { nodeId: "a", term: 1 },
        term: 1,
      });
    }
  });

  it("a read fails without a majority, and a local read returns what the peer knows", async () => {
    const elector = await open();
    await win(elector("a"), "a");
    await cluster.clock.advance(10);
    cluster.cut("c", "ab");
    await expect(run(elector("c").leader("tc"))).rejects.toBeInstanceOf(BackendUnavailableError);
    const local = await run(elector("c").leader("tc", { consistency: "local" }));
    expect(local).toMatchObject({ leader: { nodeId: "a", term: 1 } });
  });
});

describe("a watch at a peer", () => {
  it("a watch begins with the state and shows what this peer observes, in order", async () => {
    const elector = await open();
    const seen: WatchEvent[] = [];
    let end: unknown;
    const read = async () => {
      for await (const event of elector("c").watch("tc")) seen.push(event);
    };
    void read().catch((error: unknown) => {
      end = error;
    });
    await win(elector("a"), "a");
    await run(elector("a").resign(claim("a", 1)));
    await cluster.clock.advance(1);
    await win(elector("c"), "c");
    await cluster.until(() => seen.length >= 4);
    expect(
      seen.map(({ type, cursor, term, leaderNodeId, reason }) => [type, cursor, term, leaderNodeId, reason]),
    ).toEqual([
      ["LEADER_LOST", 0, 0, null, "none"],
      ["LEADER_CHANGED", 1, 1, "a", "none"],
      ["LEADER_LOST", 2, 1, null, "resigned"],
      ["LEADER_CHANGED", 3, 2, "c", "resigned"],
    ]);
    await elector("c").close();
    await cluster.until(() => end instanceof ClosedError);
  });

  it("a watch from a cursor continues there, and a cursor that is ahead gets a RESYNC", async () => {
    const elector = await open();
    await win(elector("a"), "a");
    const first = async (cursor: number) => {
      for await (const event of elector("a").watch("tc", { cursor })) return event;
      return undefined;
    };
    expect(await run(first(0))).toMatchObject({ type: "LEADER_CHANGED", cursor: 1, leaderNodeId: "a" });
    expect(await run(first(99))).toMatchObject({ type: "RESYNC", cursor: 1, leaderNodeId: "a" });
  });

  it("a watch ends with its signal's reason", async () => {
    const elector = await open();
    const controller = new AbortController();
    const events = elector("a").watch("tc", { cursor: 0, signal: controller.signal });
    const iterator = events[Symbol.asyncIterator]();
    const next = iterator.next();
    controller.abort(new Error("enough"));
    await expect(next).rejects.toThrow("enough");
    expect((await iterator.next()).done).toBe(true);
  });
});

describe("refused requests at a peer", () => {
  it("a request for another group is not found", async () => {
    const elector = (await open())("a");
    await expect(elector.campaign(request("a", { groupId: "other" }))).rejects.toBeInstanceOf(
      GroupNotFoundError,
    );
    await expect(elector.leader("other")).rejects.toBeInstanceOf(GroupNotFoundError);
    expect(() => elector.watch("other")).toThrow(GroupNotFoundError);
  });

  it("a request for another node is unauthorized", async () => {
    const elector = (await open())("a");
    await expect(elector.campaign(request("b"))).rejects.toBeInstanceOf(UnauthorizedError);
    await expect(elector.renew({ ...claim("b", 1), ttlMs: TTL_MS })).rejects.toBeInstanceOf(
      UnauthorizedError,
    );
    await expect(elector.resign(claim("b", 1))).rejects.toBeInstanceOf(UnauthorizedError);
  });

  it("a request for a ttl longer than the peers' is refused", async () => {
    const elector = (await open())("a");
    await expect(elector.campaign(request("a", { ttlMs: TTL_MS + 1 }))).rejects.toBeInstanceOf(
      InvalidTtlError,
    );
    await expect(elector.renew({ ...claim("a", 1), ttlMs: TTL_MS + 1 })).rejects.toBeInstanceOf(
      InvalidTtlError,
    );
  });

  it("a malformed request is refused, and the error names the field", async () => {
    const elector = (await open())("a");
    await expect(elector.campaign(request("a", { surprise: 1 }))).rejects.toBeInstanceOf(InvalidRequestError);
  });
});

describe("close of a peer elector", () => {
  it("close answers waiting campaigns as lost, refuses later calls, and leaves the peer running", async () => {
    const elector = await open();
    await win(elector("a"), "a");
    const waiting = elector("b").campaign(request("b", { waitMs: WAIT_MS }));
    await cluster.clock.advance(TTL_MS);
    await run(Promise.all([elector("b").close(), elector("b").close()]));
    expect(await waiting).toMatchObject({ kind: "lost", leader: { nodeId: "a" } });
    await expect(elector("b").campaign(request("b"))).rejects.toBeInstanceOf(ClosedError);
    await expect(elector("b").leader("tc")).rejects.toBeInstanceOf(ClosedError);
    await cluster.clock.advance(5 * TTL_MS);
    expect(cluster.leader()).toBe("a");
  });
});
