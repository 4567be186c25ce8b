import { sleep } from "@tenure/core";
import { afterEach, describe, expect, it } from "vitest";
import { Cluster, MemoryDisk, TTL_MS, without } from "./cluster.test-kit.js";
import type { PeerOptions } from "./peer-options.js";

let cluster = new Cluster();
afterEach(async () => {
  await cluster.stop();
  cluster = new Cluster();
});

describe("a cluster of peers", () => {
  it("peers found a cluster and elect one of them, which all know", async () => {
    const leader = await cluster.elected("abc");
    expect(cluster.electorate("c")).toBe("abc");
    expect(cluster.get(leader).events.map(({ kind }) => kind)).toContain("elected");
    for (const name of "abc") {
      expect(cluster.get(name).peer.observedLeader()).toMatchObject({ leaderId: leader, term: 1 });
    }
  });

  it("peers keep their leader and its term while there are no failures", async () => {
    const leader = await cluster.elected("abc");
    for (let i = 0; i < 200; i++) {
      await cluster.clock.advance(TTL_MS / 10);
      expect(cluster.get(leader).peer.leading()?.term).toBe(1);
    }
  });

  it("the leader renews every third of the ttl", async () => {
    const leader = await cluster.elected("abc");
    cluster.calls.length = 0;
    await cluster.clock.advance(10 * TTL_MS);
    const [other] = without("abc", leader);
    const renewals = cluster.calls.filter((call) => call === `${leader}>${other} renew`).length;
    expect(renewals).toBeGreaterThanOrEqual(29);
    expect(renewals).toBeLessThanOrEqual(31);
  });

  it("peers elect another leader when one is cut off, which has stopped before and follows when reconnected", async () => {
    const leader = await cluster.elected("abc");
    const { peer, events } = cluster.get(leader);
    const signal = peer.leading()?.signal;
    cluster.cut(leader, without("abc", leader));
    while (peer.isLeader()) {
      expect(signal?.aborted).toBe(false);
      await cluster.clock.advance(1);
    }
    expect(signal?.aborted).toBe(true);
    expect(events.at(-2)).toEqual({ kind: "lost", term: 1, cause: "expired" });
    const next = await cluster.untilLed();
    expect(next).not.toBe(leader);
    cluster.heal();
    await cluster.until(() => peer.observedLeader()?.leaderId === next);
    await cluster.clock.advance(5 * TTL_MS);
    expect(cluster.leader()).toBe(next);
  });

  it("peers elect another leader when one crashes, which makes no call and writes nothing from then on", async () => {
    const leader = await cluster.elected("abc");
    cluster.crash(leader);
    cluster.calls.length = 0;
    const { contents } = cluster.disk(leader);
    expect(without("abc", leader)).toContain(await cluster.untilLed());
    await cluster.clock.advance(5 * TTL_MS);
    expect(cluster.calls.filter((call) => call.startsWith(leader))).toEqual([]);
    expect(cluster.disk(leader).contents).toBe(contents);
  });

  it("peers elect a leader although one voter restarts repeatedly and shows a lease each time", async () => {
    const leader = await cluster.elected("abcde");
    cluster.crash(leader);
    const [restless] = without("abcde", leader) as unknown as [string];
    const members = Array.from("abcde").map((name) => cluster.member(name));
    const endMs = cluster.clock.monotonicMs() + 10 * TTL_MS;
    const isLed = (): boolean => cluster.leader() !== null;
    while (!isLed() && cluster.clock.monotonicMs() < endMs) {
      cluster.crash(restless);
      cluster.startOne(restless, { join: ["a", "b", "c", "d", "e"] }).membership.members = members;
      for (let step = 0; step < 18 && !isLed(); step++) await cluster.clock.advance(TTL_MS / 20);
    }
    expect(without("abcde", leader)).toContain(cluster.leader());
  });

  it("peers without a majority have no leader, and raise no term", async () => {
    await cluster.elected("abc");
    for (const name of "abc") cluster.cut(name, without("abc", name));
    await cluster.clock.advance(3 * TTL_MS);
    const terms = Array.from("abc").map((name) => cluster.get(name).peer.term);
    await cluster.clock.advance(10 * TTL_MS);
    expect(cluster.leader()).toBeNull();
    expect(Array.from("abc").map((name) => cluster.get(name).peer.term)).toEqual(terms);
  });

  it("peers elect again at once when the leader resigns", async () => {
    const leader = await cluster.elected("abc");
    const { peer } = cluster.get(leader);
    expect(await peer.resign(7)).toBe(false);
    const resigned = peer.resign(1);
    expect(peer.isLeader()).toBe(false);
    expect(await resigned).toBe(true);
    for (const name of "abc") expect(cluster.get(name).peer.answers.state().lease).toBeNull();
    await cluster.untilLed();
    expect(cluster.clock.monotonicMs()).toBeLessThan(3 * TTL_MS);
  });
});

describe("a leading peer", () => {
  it("a leader that wakes from a suspend longer than its lease no longer leads", async () => {
    const clock = cluster.clock.process();
    cluster.startOne("a", { clock });
    await cluster.untilLed();
    const { peer } = cluster.get("a");
    clock.suspend();
    await cluster.clock.advance(2 * TTL_MS);
    const monotonicMs = clock.monotonicMs();
    expect(peer.isLeader()).toBe(false);
    clock.resume();
    expect(clock.monotonicMs()).toBe(monotonicMs);
    expect(peer.isLeader()).toBe(false);
  });

  it("a restarted leader never continues its earlier term", async () => {
    const leader = await cluster.elected("abc");
    cluster.crash(leader);
    cluster.startOne(leader, { join: ["a", "b", "c"] });
    cluster.get(leader).membership.members = Array.from("abc").map((name) => cluster.member(name));
    expect(cluster.get(leader).peer.isLeader()).toBe(false);
    await cluster.untilLed();
    expect(cluster.get(cluster.leader() as string).peer.leading()?.term).toBeGreaterThan(1);
  });

  it("a leader does not stop because of a refusal with a higher term", async () => {
    const leader = await cluster.elected("abc");
    const [other] = without("abc", leader);
    const { config } = cluster.get(other as string).peer.answers.state();
    cluster.disk(other as string).contents = {
      config,
      vote: { term: 50, holderId: "x", holderEndpoint: "x", ttlMs: TTL_MS },
    };
    cluster.crash(other as string);
    cluster.startOne(other as string).membership.members = Array.from("abc").map((name) =>
      cluster.member(name),
    );
    await cluster.clock.advance(5 * TTL_MS);
    expect(cluster.leader()).toBe(leader);
  });

  it("a leader counts its first deadline from before its first vote request, however late the votes came", async () => {
    cluster.start("abc", { stands: "asked", driftRatio: 0 });
    await cluster.until(() => Array.from("abc").every((name) => cluster.electorate(name) === "abc"));
    const sinceMs = new Map<string, number>();
    cluster.onCall = async (call) => {
      const verb = call.slice(4);
      const nowMs = cluster.clock.monotonicMs();
      if (!sinceMs.has(verb)) sinceMs.set(verb, nowMs);
      if (verb === "acquire") await sleep(cluster.clock, TTL_MS / 5);
      if (verb === "renew") throw new Error("lost");
    };
    const campaign = cluster.get("a").peer.campaign();
    await cluster.until(() => sinceMs.has("renew"));
    campaign.stop();
    expect((sinceMs.get("renew") ?? 0) - (sinceMs.get("acquire") ?? 0)).toBe(TTL_MS / 5);
    // No round is granted, so a term that was not asked to end is released at its first deadline.
    await cluster.until(() => sinceMs.has("release"));
    expect((sinceMs.get("release") ?? 0) - (sinceMs.get("acquire") ?? 0)).toBe(TTL_MS);
  });

  it("a peer that cannot store its own vote does not lead", async () => {
    const disk = cluster.disk("a");
    const write = disk.write.bind(disk);
    disk.write = (change) =>
      change.vote === undefined ? write(change) : Promise.reject(new Error("no space left"));
    cluster.startOne("a");
    await cluster.clock.advance(5 * TTL_MS);
    expect([cluster.electorate("a"), cluster.leader(), cluster.get("a").peer.term]).toEqual(["a", null, 0]);
    disk.write = write;
    expect(await cluster.untilLed()).toBe("a");
  });
});

describe("an observed leader", () => {
  it("an observed leader was seen to renew, and is not merely the holder of a vote", async () => {
    cluster.start("abc", { stands: "asked" });
    await cluster.until(() => Array.from("abc").every((name) => cluster.electorate(name) === "abc"));
    const { config } = cluster.get("b").peer.answers.state();
    if (config === null) throw new Error("no electorate");
    const { cluster: id, epoch } = config;
    const request = { candidateId: "c", candidateEndpoint: "c", term: 1, ttlMs: TTL_MS, cluster: id, epoch };
    expect((await cluster.get("b").peer.answers.acquire(request)).granted).toBe(true);
    await cluster.clock.advance(TTL_MS / 2);
    for (const name of "abc") expect(cluster.get(name).peer.observedLeader()).toBeNull();
    expect(cluster.get("b").peer.answers.state().lease).toMatchObject({ leaderId: "c", led: false });
    await cluster.get("b").peer.answers.renew({
      leaderId: "c",
      leaderEndpoint: "c",
      term: 1,
      ttlMs: TTL_MS,
      config,
    });
    await cluster.until(() => cluster.get("a").peer.observedLeader() !== null);
    expect(cluster.get("a").peer.observedLeader()).toMatchObject({ leaderId: "c", term: 1 });
  });
});

describe("a lost candidacy of a peer", () => {
  it("a lost candidacy is released everywhere, and its term is never used again", async () => {
    cluster.onCall = (call) =>
      call.endsWith("acquire") ? Promise.reject(new Error("lost")) : Promise.resolve();
    cluster.start("abc");
    await cluster.until(() => cluster.calls.some((call) => call.endsWith("release")));
    await cluster.clock.advance(1);
    const [, candidate] = /^(.)>. release$/.exec(cluster.calls.at(-1) ?? "") ?? [];
    // Its lease is over; its term stays.
    expect(cluster.get(candidate as string).peer.answers.state().lease).toBeNull();
    expect(cluster.get(candidate as string).peer.term).toBeGreaterThan(0);
    await cluster.clock.advance(20 * TTL_MS);
    expect(cluster.leader()).toBeNull();
    cluster.onCall = () => Promise.resolve();
    const before = Math.max(...Array.from("abc").map((name) => cluster.get(name).peer.term));
    expect(before).toBeGreaterThan(2);
    const leader = await cluster.untilLed();
    expect(cluster.get(leader).peer.leading()?.term).toBeGreaterThan(before);
  });
});

describe("the first start of a peer", () => {
  it("a first start reports which servers it waits for", async () => {
    cluster.startOne("a", { join: ["a", "b"] });
    cluster.startOne("c", { join: ["b", "c"] });
    await cluster.clock.advance(TTL_MS);
    expect(cluster.get("a").events[0]).toMatchObject({ kind: "waiting", for: ["b"] });
    expect(cluster.get("c").events[0]).toMatchObject({ kind: "waiting", for: ["b"] });
    expect(cluster.electorate("a") + cluster.electorate("c")).toBe("");
  });

  it("a founder that lost its disk joins the cluster that the others announce, and founds no second one", async () => {
    cluster.startOne("a");
    await cluster.untilLed();
    const members = Array.from("abc").map((name) => cluster.member(name));
    for (const name of "bc") cluster.startOne(name, { join: ["a"] });
    for (const { membership } of cluster.running.values()) membership.members = members;
    await cluster.until(() => Array.from("abc").every((name) => cluster.electorate(name) === "abc"));
    cluster.crash("a");
    cluster.disks.set("a", new MemoryDisk("new"));
    // With the command of its first start. The others announce themselves to it within a ttl.
    const { membership } = cluster.startOne("a");
    await cluster.clock.advance(TTL_MS);
    expect(cluster.electorate("a")).toBe("");
    membership.members = Array.from("abc").map((name) => cluster.member(name));
    for (const name of "bc") cluster.get(name).membership.members = membership.members;
    await cluster.until(() => cluster.electorate("a").length > 0);
    const founder = cluster.get("b").peer.answers.state().config?.cluster;
    expect(cluster.get("a").peer.answers.state().config?.cluster).toBe(founder);
    const disk = () => cluster.get("b").peer.answers.state().config?.members["a"]?.disk;
    await cluster.until(() => disk() === "new");
  });

  it("a first start adopts the electorate of others, and waits to be added", async () => {
    await cluster.elected("ab");
    cluster.startOne("0", { join: ["0", "a"] });
    await cluster.until(() => cluster.electorate("0") === "ab");
    await cluster.clock.advance(5 * TTL_MS);
    expect(cluster.get("0").peer.term).toBe(0);
  });
});

describe('a peer with stands "asked"', () => {
  it('a peer with stands "asked" votes, and stands only during a campaign', async () => {
    cluster.start("abc", { stands: "asked" });
    await cluster.clock.advance(5 * TTL_MS);
    expect(cluster.leader()).toBeNull();
    const campaign = cluster.get("b").peer.campaign();
    expect(await cluster.untilLed()).toBe("b");
    campaign.stop();
    await cluster.clock.advance(5 * TTL_MS);
    expect(cluster.leader()).toBe("b");
  });

  it('a peer with stands "asked" releases a term that it wins after its campaign was stopped', async () => {
    cluster.start("abc", { stands: "asked" });
    await cluster.until(() => Array.from("abc").every((name) => cluster.electorate(name) === "abc"));
    let done = (): void => {};
    cluster.onCall = async (call) => {
      if (call.endsWith("acquire")) done();
    };
    done = cluster.get("b").peer.campaign().stop;
    await cluster.until(() => cluster.get("b").peer.term === 1);
    await cluster.clock.advance(TTL_MS);
    expect(cluster.leader()).toBeNull();
    expect(cluster.get("a").peer.answers.state().lease).toBeNull();
  });
});

it("a stopped peer has released its lease, and stops once", async () => {
  const leader = await cluster.elected("abc");
  const { peer } = cluster.get(leader);
  await Promise.all([peer.stop(), peer.stop()]);
  expect(peer.isLeader()).toBe(false);
  const [other] = without("abc", leader) as unknown as [string];
  expect(cluster.get(other).peer.answers.state().lease).toBeNull();
});

it.each([
  ["ttlMs", { ttlMs: 99 }],
  ["ttlMs", { ttlMs: 1000.5 }],
  ["driftRatio", { driftRatio: 0.2 }],
  ["identity", { identity: "with space" }],
  ["endpoint", { endpoint: "" }],
  ["join", { join: [""] }],
  ["stands", { stands: "never" as "asked" }],
  ["surprise", { surprise: 1 }],
])("a wrong option of a peer is refused by name: %s", (field, options) => {
  expect(() => cluster.startOne("a", options as Partial<PeerOptions>)).toThrow(
    expect.objectContaining({ field }),
  );
});
