import { ClosedError } from "@tenure/core";
import { afterEach, describe, expect, it } from "vitest";
import { Cluster, TTL_MS, without } from "./cluster.test-kit.js";
import type { LeaveOutcome } from "./leaving.js";

let cluster = new Cluster();
afterEach(async () => {
  await cluster.stop();
  cluster = new Cluster();
});

describe("a leaving node", () => {
  function leave(name: string): Promise<LeaveOutcome> {
    for (const { name: each, membership } of cluster.running.values()) {
      membership.members = membership.members.filter((member) => member.identity !== name);
      membership.gone = [...membership.gone, name];
      if (each === name) membership.leaving = true;
    }
    return cluster.get(name).peer.leave();
  }

  async function settles<T>(leaving: Promise<T>): Promise<T> {
    let isDone = false;
    void leaving.then(() => {
      isDone = true;
    });
    await cluster.until(() => isDone);
    return leaving;
  }

  it("a leaving node may stop when the leader's own answer shows an electorate without it", async () => {
    const leader = await cluster.elected("abc");
    const [leaver] = without("abc", leader) as unknown as [string];
    await settles(leave(leaver));
    expect(cluster.electorate(leader)).toBe(without("abc", leaver));
    expect(cluster.leader()).toBe(leader);
  });

  it("a leaving leader releases its lease, and the next leader drops it", async () => {
    const leader = await cluster.elected("abc");
    await settles(leave(leader));
    expect(cluster.get(leader).events).toContainEqual({ kind: "lost", term: 1, cause: "leaving" });
    const next = cluster.leader();
    expect(next).not.toBe(leader);
    expect(cluster.electorate(next as string)).toBe(without("abc", leader));
  });

  it("one of two nodes leaves, and the other no longer needs its vote", async () => {
    const leader = await cluster.elected("ab");
    const [other] = without("ab", leader) as unknown as [string];
    await settles(leave(other));
    cluster.crash(other);
    await cluster.clock.advance(5 * TTL_MS);
    expect(cluster.leader()).toBe(leader);
  });

  it("a leaving node that is the only elector leads until another is added", async () => {
    cluster.startOne("a");
    await cluster.untilLed();
    cluster.startOne("b", { join: ["a"] });
    const members = Array.from("ab").map((name) => cluster.member(name));
    for (const { membership } of cluster.running.values()) membership.members = members;
    await settles(leave("a"));
    expect(cluster.leader()).toBe("b");
    expect(cluster.electorate("b")).toBe("b");
  });

  it("a leaving node that was just added does not stop before the leader knows, because the step could not be undone", async () => {
    cluster.startOne("a");
    await cluster.untilLed();
    cluster.startOne("b", { join: ["a"] });
    const members = Array.from("ab").map((name) => cluster.member(name));
    let written = (): void => {};
    cluster.disk("a").gate = new Promise((resolve) => {
      written = resolve;
    });
    for (const { membership } of cluster.running.values()) membership.members = members;
    await cluster.until(() => cluster.electorate("b") === "ab");
    expect(cluster.electorate("a")).toBe("a");
    const left = leave("b").then(() => cluster.crash("b"));
    await cluster.clock.advance(TTL_MS / 20);
    written();
    await settles(left);
    await cluster.clock.advance(5 * TTL_MS);
    expect(cluster.electorate("a")).toBe("a");
    expect(cluster.leader()).toBe("a");
  });

  it("a leaving node may lead when all electors are leaving and other servers are there", async () => {
    await cluster.elected("ab");
    cluster.startOne("c", { join: ["a"] });
    const members = Array.from("abc").map((name) => cluster.member(name));
    for (const { membership } of cluster.running.values()) membership.members = members;
    await settles(Promise.all([leave("a"), leave("b")]));
    expect(cluster.electorate("c")).toBe("c");
  });

  it("a leaving node may stop at once when it is alone", async () => {
    cluster.startOne("a").membership.members = [cluster.member("a")];
    await cluster.untilLed();
    expect(await settles(leave("a"))).toEqual({ kind: "last", electorate: ["a"] });
    expect(cluster.leader()).toBeNull();
  });

  it("a leaving node may stop at once when all other electors leave too, because none stays to remove it", async () => {
    const leader = await cluster.elected("abc");
    const startMs = cluster.clock.monotonicMs();
    const outcomes = await settles(Promise.all(Array.from("abc").map(leave)));
    expect(cluster.clock.monotonicMs() - startMs).toBeLessThan(TTL_MS);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ kind: "last" });
    // Two of three are enough to continue.
    for (const name of "abc") cluster.crash(name);
    cluster.start(without("abc", leader));
    expect(without("abc", leader)).toContain(await cluster.untilLed());
  });

  it("a leaving leader is removed without waiting for the regular rounds of the next leader", async () => {
    const leader = await cluster.elected("abc");
    const leaving = leave(leader);
    await cluster.until(() => cluster.leader() !== null && cluster.leader() !== leader);
    const next = cluster.leader() as string;
    await cluster.clock.advance(TTL_MS / 20);
    expect(cluster.electorate(next)).toBe(without("abc", leader));
    await settles(leaving);
  });

  it.each(["abc", "abcde"])(
    "nodes of %s leave one after the other, each within four leases, and the last one stays",
    async (names) => {
      await cluster.elected(names);
      for (let rest = names; rest !== "";) {
        // The leader first, which takes the longest.
        const name = rest.length === 1 ? rest : await cluster.untilLed();
        const startMs = cluster.clock.monotonicMs();
        const outcome = await settles(leave(name));
        expect(cluster.clock.monotonicMs() - startMs).toBeLessThan(4 * TTL_MS);
        rest = without(rest, name);
        expect(outcome).toEqual(rest === "" ? { kind: "last", electorate: [name] } : { kind: "removed" });
        cluster.crash(name);
      }
    },
  );

  it("a leaving node of three is removed although a step is held back for some rounds, without busy retries", async () => {
    let rounds = 0;
    cluster.start("abc", { holdStep: () => (++rounds < 4 ? "not yet" : null) });
    const leader = await cluster.untilLed();
    await cluster.clock.advance(TTL_MS);
    const [leaver] = without("abc", leader) as unknown as [string];
    cluster.calls.length = 0;
    await settles(leave(leaver));
    expect(cluster.electorate(leader)).toBe(without("abc", leaver));
    expect(cluster.calls.filter((call) => call.endsWith("renew")).length).toBeLessThan(30);
  });

  it("a leaving node waits until it is dropped or its signal aborts", async () => {
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

  it("a leaving node that is stopped no longer waits", async () => {
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
