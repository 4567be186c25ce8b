import { ClosedError } from "@tenure/core";
import { afterEach, describe, expect, it } from "vitest";
import { Cluster, TTL_MS, without } from "./cluster.test-kit.js";

let cluster = new Cluster();
afterEach(async () => {
  await cluster.stop();
  cluster = new Cluster();
});

describe("a leaving node", () => {
  function leave(name: string): Promise<void> {
    for (const { name: each, membership } of cluster.running.values()) {
      membership.members = membership.members.filter((member) => member.identity !== name);
      membership.gone = [...membership.gone, name];
      if (each === name) membership.leaving = true;
    }
    return cluster.get(name).peer.leave();
  }

  async function settles(leaving: Promise<void>): Promise<void> {
    let isDone = false;
    void leaving.then(() => {
      isDone = true;
    });
    await cluster.until(() => isDone);
  }

  it("may stop when the leader's own answer shows an electorate without it", async () => {
    const leader = await cluster.elected("abc");
    const [leaver] = without("abc", leader) as unknown as [string];
    await settles(leave(leaver));
    expect(cluster.electorate(leader)).toBe(without("abc", leaver));
    expect(cluster.leader()).toBe(leader);
  });

  it("that leads releases, and the next leader drops it", async () => {
    const leader = await cluster.elected("abc");
    await settles(leave(leader));
    expect(cluster.get(leader).events).toContainEqual({ kind: "lost", term: 1, cause: "leaving" });
    const next = cluster.leader();
    expect(next).not.toBe(leader);
    expect(cluster.electorate(next as string)).toBe(without("abc", leader));
  });

  it("of two needs the other's vote no longer once it is gone", async () => {
    const leader = await cluster.elected("ab");
    const [other] = without("ab", leader) as unknown as [string];
    await settles(leave(other));
    cluster.crash(other);
    await cluster.clock.advance(5 * TTL_MS);
    expect(cluster.leader()).toBe(leader);
  });

  it("that is the only elector leads until another is added", async () => {
    cluster.startOne("a");
    await cluster.untilLed();
    cluster.startOne("b", { join: ["a"] });
    const members = Array.from("ab").map((name) => cluster.member(name));
    for (const { membership } of cluster.running.values()) membership.members = members;
    await settles(leave("a"));
    expect(cluster.leader()).toBe("b");
    expect(cluster.electorate("b")).toBe("b");
  });

  it("leads too when all electors are leaving and others are there", async () => {
    await cluster.elected("ab");
    cluster.startOne("c", { join: ["a"] });
    const members = Array.from("abc").map((name) => cluster.member(name));
    for (const { membership } of cluster.running.values()) membership.members = members;
    await settles(Promise.all([leave("a"), leave("b")]).then(() => {}));
    expect(cluster.electorate("c")).toBe("c");
  });

  it("may stop at once when it is all alone", async () => {
    cluster.startOne("a").membership.members = [cluster.member("a")];
    await cluster.untilLed();
    await settles(leave("a"));
    expect(cluster.leader()).toBeNull();
  });

  it("waits while nobody drops it, until it is told to give up", async () => {
    const leader = await cluster.elected("ab");
    const [other] = without("ab", leader) as unknown as [string];
    cluster.crash(leader);
    cluster.get(other).membership.leaving = true;
    const giveUp = new AbortController();
    const leaving = cluster.get(other).peer.leave({ signal: giveUp.signal });
    let isOver = false;
    const watch = (): void => {
      isOver = true;
    };
    void leaving.then(watch, watch);
    await cluster.clock.advance(10 * TTL_MS);
    expect(isOver).toBe(false);
    giveUp.abort(new Error("enough"));
    await expect(leaving).rejects.toThrow("enough");
  });

  it("that is stopped waits no longer", async () => {
    const leader = await cluster.elected("ab");
    const [other] = without("ab", leader) as unknown as [string];
    cluster.crash(leader);
    const { peer, membership } = cluster.get(other);
    membership.leaving = true;
    const leaving = peer.leave();
    await peer.stop();
    await expect(leaving).rejects.toBeInstanceOf(ClosedError);
  });
});
