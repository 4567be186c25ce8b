/** How the electorate follows the active membership, with real peers. */
import { afterEach, describe, expect, it } from "vitest";
import { Cluster, MemoryDisk, TTL_MS, without } from "./cluster.test-kit.js";

let cluster = new Cluster();
afterEach(async () => {
  await cluster.stop();
  cluster = new Cluster();
});

describe("the electorate follows the membership", () => {
  function announce(names: string, gone = ""): void {
    const members = Array.from(names).map((name) => cluster.member(name));
    for (const { membership } of cluster.running.values()) {
      membership.members = members;
      membership.gone = Array.from(gone);
    }
  }

  it("a server that announces itself is added, one after the other", async () => {
    await cluster.elected("abc");
    for (const name of "de") cluster.startOne(name, { join: ["a", "b", "c"] });
    announce("abcde");
    await cluster.until(() => cluster.electorate("a") === "abcde");
    await cluster.until(() => Array.from("abcde").every((name) => cluster.electorate(name) === "abcde"));
  });

  it("a server that announces itself but cannot be reached is not added, and the leader stays", async () => {
    const leader = await cluster.elected("abc");
    announce("abcd");
    await cluster.clock.advance(10 * TTL_MS);
    expect([cluster.leader(), cluster.electorate(leader)]).toEqual([leader, "abc"]);
  });

  it("a server that granted a round and then never stores its step does not affect the leader", async () => {
    cluster.startOne("a");
    await cluster.untilLed();
    const { peer } = cluster.startOne("d", { join: ["a"] });
    announce("ad");
    await cluster.until(() => peer.answers.state().lease !== null);
    cluster.cut("a", "d");
    for (let look = 0; look < 100; look++) {
      await cluster.clock.advance(TTL_MS / 10);
      // The electorate that a leader shows is complete.
      expect([cluster.leader(), cluster.electorate("a")]).toEqual(["a", "a"]);
    }
    cluster.heal();
    await cluster.until(() => cluster.electorate("d") === "ad");
  });

  it("one expired server of four is dropped, and none of three", async () => {
    const leader = await cluster.elected("abcd");
    const [first, second] = without("abcd", leader);
    cluster.crash(first as string);
    announce(without("abcd", first as string));
    await cluster.until(() => cluster.electorate(leader).length === 3);
    cluster.crash(second as string);
    announce(without(without("abcd", first as string), second as string));
    await cluster.clock.advance(5 * TTL_MS);
    expect(cluster.electorate(leader).length).toBe(3);
    expect(cluster.leader()).toBe(leader);
  });

  it.each(["abc", "abcde"])(
    "no server of %s is dropped whose announcements are lost while it grants the leader's rounds",
    async (names) => {
      const leader = await cluster.elected(names);
      // The leader accepts no connection, so it gets no announcement. Its own connections work.
      cluster.get(leader).membership.members = [cluster.member(leader)];
      await cluster.clock.advance(10 * TTL_MS);
      expect([cluster.leader(), cluster.electorate(leader)]).toEqual([leader, names]);
      expect(cluster.get(leader).peer.status().missing).toEqual([]);
      cluster.crash(leader);
      expect(without(names, leader)).toContain(await cluster.untilLed());
    },
  );

  it("an elector is dropped if for a member's lease it neither announced itself nor granted a round", async () => {
    const leader = await cluster.elected("abcd");
    const [dead] = without("abcd", leader) as unknown as [string];
    cluster.get(leader).membership.members = [cluster.member(leader)];
    await cluster.clock.advance(10 * TTL_MS);
    expect(cluster.electorate(leader)).toBe("abcd");
    cluster.crash(dead);
    await cluster.clock.advance(2 * TTL_MS);
    expect(cluster.electorate(leader)).toBe("abcd");
    await cluster.until(() => cluster.electorate(leader) === without("abcd", dead));
  });

  it("a server that comes back with an empty disk is dropped and added again, and does not vote before", async () => {
    const leader = await cluster.elected("abc");
    const [wiped] = without("abc", leader) as unknown as [string];
    cluster.crash(wiped);
    cluster.disks.set(wiped, new MemoryDisk("new"));
    cluster.startOne(wiped, { join: Array.from("abc").filter((name) => name !== wiped) });
    announce("abc");
    const disk = (): string | undefined =>
      cluster.get(leader).peer.answers.state().config?.members[wiped]?.disk;
    await cluster.until(() => disk() === undefined);
    await cluster.until(() => disk() === "new");
    expect(cluster.leader()).toBe(leader);
  });

  it("a server that moved is known by its new endpoint", async () => {
    const leader = await cluster.elected("abc");
    const [moved] = without("abc", leader) as unknown as [string];
    const { peer, membership, events } = cluster.get(moved);
    await peer.stop();
    cluster.crash(moved);
    const again = cluster.startOne(moved, { endpoint: "elsewhere", join: ["a"] });
    cluster.running.delete(moved);
    cluster.running.set("elsewhere", { ...again, membership, events });
    const members = Array.from("abc").map((name) =>
      name === moved ? { ...cluster.member(name), endpoint: "elsewhere" } : cluster.member(name),
    );
    for (const each of cluster.running.values()) each.membership.members = members;
    await cluster.until(
      () => cluster.get(leader).peer.answers.state().config?.members[moved]?.endpoint === "elsewhere",
    );
  });
});
