/** Roles that depend on each other, and sets. */
import { sleep } from "@tenure/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { RoleEvent } from "./state.js";
import { type Participant, World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

const CHAIN = { a: { dependsOn: ["b"] }, b: { dependsOn: ["c"] }, c: {} };

describe("dependencies between roles", () => {
  test("roles are acquired in order, and released in the reverse order", async () => {
    const p = world.participant("p", { roles: CHAIN });
    await world.until(p.manager.start());
    expect(p.log).toEqual(["promote c 1", "promote b 1", "promote a 1"]);
    await world.until(p.manager.stop());
    expect(p.log.slice(3)).toEqual([
      "abort a",
      "demote a stopped",
      "abort b",
      "demote b stopped",
      "abort c",
      "demote c stopped",
    ]);
  });

  test("a lease is resigned only after the leases of its dependent roles, however long their work takes", async () => {
    const p = world.participant("p", {
      roles: { below: {}, above: { dependsOn: ["below"] } },
      work: async (role, signal, clock) => {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        if (role === "above") await sleep(clock, 3000);
      },
    });
    await world.until(p.manager.start());
    const stopped = p.manager.stop();
    await world.clock.advance(2900);
    // Its own lease is also kept until then.
    expect(await world.leaders(["above", "below"])).toEqual(
      new Map([
        ["above", "p"],
        ["below", "p"],
      ]),
    );
    await world.until(stopped);
    expect(p.log.slice(2)).toEqual([
      "abort above",
      "demote above stopped",
      "abort below",
      "demote below stopped",
    ]);
  });

  test("a role is not campaigned for without the role that it depends on, even if it has no leader", async () => {
    const other = world.participant("other", { roles: { c: {} } });
    await world.until(other.manager.start());
    const p = world.participant("p", { roles: CHAIN });
    await world.until(p.manager.start());
    await world.clock.advance(5000);
    expect(p.log).toEqual([]);
    await world.until(other.manager.stop());
    await world.clock.advance(100);
    expect(p.manager.led()).toEqual(["c", "b", "a"]);
  });

  test("losing a role releases its dependent roles first, and all return in order", async () => {
    const p = world.participant("p", { roles: CHAIN });
    await world.until(p.manager.start());
    await world.until(p.elector.stepDown({ groupId: "b", by: "operator", force: true }));
    await world.clock.advance(1000);
    expect(p.log.slice(3)).toEqual([
      "abort b",
      "abort a",
      "demote a dependency-lost",
      "demote b not-leader",
      "promote b 2",
      "promote a 2",
    ]);
    expect(p.manager.isLeader("c")).toBe(true);
    expect(p.manager.mandate("c")?.term).toBe(1);
  });

  test("when all roles are lost at once, each is demoted after its dependent roles", async () => {
    const p = world.participant("p", { roles: CHAIN });
    await world.until(p.manager.start());
    p.clock.pause();
    await world.clock.advance(3000);
    p.clock.resume();
    await world.clock.advance(1000);
    const demoted = p.log.filter((each) => each.startsWith("demote")).map((each) => each.split(" ")[1]);
    expect(demoted).toEqual(["a", "b", "c"]);
    expect(p.manager.led()).toEqual(["c", "b", "a"]);
  });
});

describe("sets of roles", () => {
  const PAIR = { x: { set: "pair" }, y: { set: "pair" } };

  test("a set is led as a whole", async () => {
    const p = world.participant("p", { roles: PAIR });
    await world.until(p.manager.start());
    expect(p.log).toEqual(["promote x 1", "promote y 1"]);
    expect(p.manager.led()).toEqual(["x", "y"]);
  });

  test("a part of a set is not promoted, and is resigned when the rest cannot be won in time", async () => {
    const p = world.participant("p", {
      roles: PAIR,
      // Campaigns for y are held back, for reasons that the watch does not show.
      over: (elector) =>
        new Proxy(elector, {
          get(target, property) {
            const value = Reflect.get(target, property, target) as (...args: unknown[]) => unknown;
            if (property !== "campaign") return typeof value === "function" ? value.bind(target) : value;
            return (request: { groupId: string }, options: unknown) =>
              request.groupId === "y"
                ? Promise.resolve({ kind: "lost", leader: null, retryAfterMs: 10 })
                : value.call(target, request, options);
          },
        }),
    });
    const events: RoleEvent[] = [];
    void (async () => {
      for await (const event of p.manager.changes()) events.push(event);
    })();
    void p.manager.start();
    await world.clock.advance(500);
    expect(p.manager.status().roles[0]).toMatchObject({ role: "x", state: { kind: "won" }, isLeader: false });
    await world.clock.advance(600);
    expect(await world.leaders(["x"])).toEqual(new Map([["x", null]]));
    expect(events).toEqual([{ kind: "set-given-up", set: "pair" }]);
    await world.clock.advance(10_000);
    // It was tried again after a while.
    expect(events.length).toBeGreaterThan(3);
    expect(p.log).toEqual([]);
  });

  test("a set is not campaigned for while another node leads a part of it", async () => {
    const other = world.participant("other", { roles: { y: {} } });
    await world.until(other.manager.start());
    const p = world.participant("p", { roles: PAIR });
    await world.until(p.manager.start());
    await world.clock.advance(5000);
    expect(await world.leaders(["x", "y"])).toEqual(
      new Map([
        ["x", null],
        ["y", "other"],
      ]),
    );
    await world.until(other.manager.stop());
    await world.clock.advance(100);
    expect(p.manager.led()).toEqual(["x", "y"]);
  });

  test("losing one role of a set releases the others", async () => {
    const p = world.participant("p", { roles: PAIR });
    await world.until(p.manager.start());
    await world.until(p.elector.stepDown({ groupId: "x", by: "operator", force: true }));
    await world.clock.advance(1000);
    expect(p.log.slice(2)).toEqual([
      "abort x",
      "abort y",
      "demote x not-leader",
      "demote y set-lost",
      "promote x 2",
      "promote y 2",
    ]);
  });

  test("a set whose roles depend on each other is promoted in their order", async () => {
    const p = world.participant("p", { roles: { a: { set: "s", dependsOn: ["b"] }, b: { set: "s" } } });
    await world.until(p.manager.start());
    expect(p.log).toEqual(["promote b 1", "promote a 1"]);
    await world.until(p.manager.stop());
    expect(p.log.slice(2)).toEqual(["abort a", "demote a stopped", "abort b", "demote b stopped"]);
  });

  test("three processes with overlapping sets lead them in turn, and never a part of one", async () => {
    const wants: Record<string, readonly string[]> = { p: ["x", "y"], q: ["y", "z"], r: ["x", "z"] };
    const all = Object.entries(wants).map(([nodeId, names]) =>
      world.participant(nodeId, {
        roles: Object.fromEntries(names.map((name) => [name, { set: "mine" }])),
      }),
    );
    const started = all.map(({ manager }) => manager.start());
    const turns = new Set<string>();
    for (let left = all; left.length > 0;) {
      let leading: Participant | undefined;
      while (leading === undefined) {
        await world.clock.advance(50);
        for (const { manager } of left) expect([0, 2]).toContain(manager.led().length);
        leading = left.find(({ manager }) => manager.led().length === 2);
      }
      turns.add(leading.nodeId);
      await world.until(leading.manager.stop());
      left = left.filter((each) => each !== leading);
    }
    await world.until(Promise.all(started));
    expect([...turns].toSorted()).toEqual(["p", "q", "r"]);
  });
});
