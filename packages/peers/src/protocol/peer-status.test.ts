/** What a peer reports to its operator. */
import { afterEach, describe, expect, it } from "vitest";
import { Cluster, TTL_MS, without } from "./cluster.test-kit.js";
import type { PeerEvent } from "./peer-events.js";

let cluster = new Cluster();
afterEach(async () => {
  await cluster.stop();
  cluster = new Cluster();
});

const status = (name: string) => cluster.get(name).peer.status();
const reported = (name: string, kind: PeerEvent["kind"]) =>
  cluster.get(name).events.filter((event) => event.kind === kind);

describe("the status of a peer", () => {
  it("the status shows electorate, members, leader and term, and at a leader no step that is held back", async () => {
    const leader = await cluster.elected("abc");
    await cluster.clock.advance(2 * TTL_MS);
    expect(status(leader)).toMatchObject({
      identity: leader,
      disk: `disk-${leader}`,
      ttlMs: TTL_MS,
      term: 1,
      isLeader: true,
      isElector: true,
      leader: { leaderId: leader, term: 1 },
      missing: [],
      heldBack: null,
      notStanding: null,
    });
    expect(Object.keys(status(leader).electorate?.members ?? {}).toSorted()).toEqual(["a", "b", "c"]);
    expect(status(leader).members).toHaveLength(3);
    const [other] = without("abc", leader) as unknown as [string];
    expect(status(other)).toMatchObject({ isLeader: false, notStanding: { reason: "lease-active" } });
    expect(reported(other, "not-standing")).toEqual([]);
  });

  it("the status names the missing electors and why the peer does not stand, reported once", async () => {
    const leader = await cluster.elected("abc");
    const [survivor, dead] = without("abc", leader) as unknown as [string, string];
    for (const name of [leader, dead]) cluster.crash(name);
    cluster.get(survivor).membership.members = [cluster.member(survivor)];
    await cluster.clock.advance(10 * TTL_MS);
    expect(
      status(survivor)
        .missing.map(({ identity }) => identity)
        .toSorted(),
    ).toEqual([leader, dead].toSorted());
    expect(status(survivor)).toMatchObject({ leader: null, notStanding: { reason: "no-majority" } });
    expect(status(survivor).notStanding?.detail).toContain("1 of 3 electors answer");
    expect(status(survivor).notStanding?.forMs).toBeGreaterThan(5 * TTL_MS);
    const whys = reported(survivor, "not-standing").flatMap((event) =>
      event.kind === "not-standing" ? [event.why.reason] : [],
    );
    expect(whys).toEqual(["no-majority"]);
  });

  it("the status of a server outside the electorate says which servers it waits for", async () => {
    await cluster.elected("ab");
    cluster.startOne("d", { join: ["a"] });
    await cluster.until(() => cluster.electorate("d") === "ab");
    for (const name of "ab") cluster.crash(name);
    await cluster.clock.advance(3 * TTL_MS);
    expect(status("d")).toMatchObject({ isElector: false, notStanding: { reason: "not-an-elector" } });
    expect(status("d").notStanding?.detail).toContain("a (a), b (b)");
  });

  it("a server of another cluster is reported once, on both sides", async () => {
    cluster.startOne("a");
    cluster.startOne("b");
    await cluster.until(() => cluster.electorate("a") === "a" && cluster.electorate("b") === "b");
    await cluster.until(() => ["a", "b"].every((name) => cluster.get(name).peer.isLeader()));
    // Each server counts the other as a member.
    cluster.get("a").membership.members = Array.from("ab").map((name) => cluster.member(name));
    await cluster.clock.advance(5 * TTL_MS);
    expect(reported("a", "other-cluster")).toEqual([
      { kind: "other-cluster", identity: "b", endpoint: "b", cluster: "disk-b", own: "disk-a" },
    ]);
    expect(reported("b", "other-cluster")).toEqual([
      { kind: "other-cluster", identity: "a", endpoint: "a", cluster: "disk-a", own: "disk-b" },
    ]);
  });

  it("the status shows how long a change of the electorate is held back, which is reported after a ttl and when it ends", async () => {
    let why: string | null = "not now";
    cluster.start("abc", { holdStep: () => why });
    const leader = await cluster.untilLed();
    cluster.startOne("d", { join: ["a"] });
    for (const { membership } of cluster.running.values())
      membership.members = Array.from("abcd").map((name) => cluster.member(name));
    await cluster.until(() => status(leader).heldBack?.reason === "held");
    expect(reported(leader, "held-back")).toEqual([]);
    await cluster.clock.advance(3 * TTL_MS);
    expect(status(leader).heldBack).toMatchObject({ reason: "held", detail: "not now" });
    expect(status(leader).heldBack?.forMs).toBeGreaterThan(2 * TTL_MS);
    expect(reported(leader, "held-back")).toMatchObject([{ why: { detail: "not now" } }]);
    why = null;
    await cluster.until(() => cluster.electorate(leader) === "abcd");
    await cluster.clock.advance(TTL_MS);
    expect(status(leader).heldBack).toBeNull();
    expect(reported(leader, "held-back").at(-1)).toEqual({ kind: "held-back", why: null });
  });
});
