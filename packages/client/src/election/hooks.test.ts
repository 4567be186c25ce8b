import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { out } from "./scripted-elector.test-kit.js";
import type { ElectionEvent } from "./state.js";
import { gate, World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

describe("The hooks of an election", () => {
  test("onPromote and onDemote are called in turn, onLeaderChange independently, each once per transition", async () => {
    const a = world.scripted("a", { bare: true });
    const seen: string[] = [];
    const hook = (name: string, running = { count: 0 }) => {
      return async () => {
        running.count += 1;
        expect(running.count).toBe(1);
        seen.push(name);
        await new Promise<void>((resolve) => a.clock.after(7, resolve));
        seen.push(`${name} ended`);
        running.count -= 1;
      };
    };
    const [work, news] = [{ count: 0 }, { count: 0 }];
    a.election
      .onPromote(hook("promote", work))
      .onDemote(hook("demote", work))
      .onLeaderChange((leader) => hook(`leader ${leader.nodeId} ${leader.term}`, news)());
    await a.election.start();
    await world.clock.advance(100);
    a.election.resign();
    await world.clock.advance(100);
    const twice = (...names: string[]) => names.flatMap((name) => [name, `${name} ended`]);
    const of = (what: string) => seen.filter((name) => name.startsWith("leader") === (what === "leader"));
    expect(of("leader")).toEqual(twice("leader null 0", "leader a 1", "leader null 1", "leader a 2"));
    expect(of("work")).toEqual(twice("promote", "demote", "promote"));
    await world.until(a.election.stop());
    expect(seen.filter((name) => name === "demote").length).toBe(2);
  });

  test("an onLeaderChange that never ends delays neither onPromote nor onDemote", async () => {
    const a = world.participant("a");
    a.election.onLeaderChange(() => new Promise(() => {}));
    await a.election.start();
    await world.clock.advance(100);
    await world.until(a.election.stop());
    expect(a.log).toEqual(["promote 1", "abort", "demote stopped"]);
  });

  test("hooks that throw or reject are reported and have no other effect", async () => {
    const a = world.participant("a", { bare: true, onPromoteFailure: "keep" });
    const events: ElectionEvent[] = [];
    const reading = (async () => {
      for await (const event of a.election.changes()) events.push(event);
    })();
    a.election
      .onPromote(() => {
        throw new Error("promote");
      })
      .onDemote(() => Promise.reject(new Error("demote")))
      .onLeaderChange(() => {
        throw new Error("change");
      });
    await a.election.start();
    await world.clock.advance(3000);
    expect(a.election.isLeader()).toBe(true);
    await world.until(a.election.stop());
    await reading;
    const failed = events.filter((event) => event.kind === "hook-failed");
    const of = (name: string) => failed.filter(({ hook }) => hook === name).length;
    expect([of("onPromote"), of("onDemote"), of("onLeaderChange")]).toEqual([1, 1, 3]);
  });

  test("work that ends because of its signal has not failed, and work that fails while it ends has", async () => {
    for (const [failure, reported] of [
      [(signal: AbortSignal) => signal.reason as Error, 0],
      [() => new DOMException("aborted", "AbortError"), 0],
      [() => new Error("disk full"), 1],
    ] as const) {
      const a = world.participant("a", { bare: true });
      const failures: unknown[] = [];
      const reading = (async () => {
        for await (const event of a.election.changes())
          if (event.kind === "hook-failed") failures.push(event.error);
      })();
      a.election.onPromote(
        (_mandate, signal) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(failure(signal)));
          }),
      );
      await a.election.start();
      await world.clock.advance(10);
      await world.until(a.election.stop());
      await reading;
      expect(failures.length).toBe(reported);
    }
  });

  test("onDemote waits for the promise of onPromote, however it settles", async () => {
    const a = world.scripted("a", { bare: true });
    const seen: string[] = [];
    const worked = gate();
    a.election
      .onPromote(async () => {
        await worked.opened;
        seen.push("work ended");
        throw new Error("late");
      })
      .onDemote((reason) => seen.push(reason));
    await a.election.start();
    a.elector.always(out, "renew");
    await world.clock.advance(5000);
    expect(seen).toEqual([]);
    worked.open();
    await world.clock.advance(1);
    expect(seen.slice(0, 2)).toEqual(["work ended", "lapsed"]);
    a.elector.mend();
    await world.until(a.election.stop());
  });

  test("a term whose work never ends is never resigned, and the process does not lead again meanwhile", async () => {
    const a = world.scripted("a", { bare: true });
    let promoted = 0;
    a.election.onPromote(() => {
      promoted += 1;
      return new Promise(() => {});
    });
    await a.election.start();
    a.elector.always(out, "renew");
    await world.clock.advance(1000);
    a.elector.mend();
    await world.clock.advance(20_000);
    expect(promoted).toBe(1);
    expect(a.election.isLeader()).toBe(false);
    expect(a.elector.made("resign")).toEqual([]);
    expect(a.elector.made("campaign").length).toBe(1);
    expect(a.election.status().state).toMatchObject({ kind: "stepping-down", reason: "lapsed" });
    // Other processes may still lead.
    const result = await world.operator.campaign({ groupId: "g", nodeId: "next", ttlMs: 1000 });
    expect(result).toMatchObject({ kind: "elected", leader: { term: 2 } });
  });

  test("each hook can be set once, and only before start", async () => {
    const a = world.participant("a");
    const hook = () => {};
    expect(() => a.election.onPromote(hook)).toThrow(
      'onPromote has a hook already, and only one is allowed because it is awaited; add a listener with on("promoted", …) instead',
    );
    expect(() => a.election.onDemote(hook)).toThrow("onDemote has a hook already");
    await a.election.start();
    expect(() => a.election.onLeaderChange(hook)).toThrow("onLeaderChange must be called before start");
    await world.until(a.election.stop());
  });

  test("onLeaderChange reports the new and the previous leader to a follower", async () => {
    const a = world.participant("a");
    const b = world.participant("b", { bare: true });
    const seen: [string | null, number, string | null][] = [];
    b.election.onLeaderChange((leader, previousId) => seen.push([leader.nodeId, leader.term, previousId]));
    await a.election.start();
    await b.election.start();
    await world.clock.advance(10);
    await world.until(a.election.stop());
    await world.clock.advance(10);
    expect(seen[0]).toEqual(["a", 1, null]);
    expect(seen.at(-1)).toEqual(["b", 2, "a"]);
    expect(b.election.leaderId()).toBe("b");
    await world.until(b.election.stop());
  });
});
