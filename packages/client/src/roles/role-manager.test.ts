import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { RoleEvent } from "./state.js";
import { counting, plainRoles, World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

describe("RoleManager", () => {
  test("a role manager leads all its roles, knows their leaders elsewhere, and resigns them when stopped", async () => {
    const a = world.participant("a", { roles: plainRoles(3) });
    const b = world.participant("b", { roles: plainRoles(3) });
    await world.until(a.manager.start());
    expect(a.manager.led()).toEqual(["r0", "r1", "r2"]);
    expect(a.log.toSorted()).toEqual(["promote r0 1", "promote r1 1", "promote r2 1"]);
    await world.until(b.manager.start());
    await world.clock.advance(5000);
    expect(a.manager.mandate("r1")).toMatchObject({ groupId: "r1", nodeId: "a", term: 1 });
    expect(b.manager.mandate("r1")).toBeNull();
    expect(b.manager.status()).toMatchObject({
      state: "running",
      led: 0,
      connection: "connected",
      roles: [{ role: "r0", state: { kind: "out" }, leaderId: "a", term: 1 }, {}, {}],
    });
    await world.until(a.manager.stop());
    await world.clock.advance(10);
    expect(a.manager.status()).toMatchObject({ state: "stopped", led: 0 });
    expect(b.manager.led()).toEqual(["r0", "r1", "r2"]);
    expect(a.log.slice(-3).toSorted()).toEqual([
      "demote r0 stopped",
      "demote r1 stopped",
      "demote r2 stopped",
    ]);
  });

  test("a role manager takes over at once when the leases of a lost process are over", async () => {
    const a = world.participant("a", { roles: plainRoles(20) });
    const b = world.participant("b", { roles: plainRoles(20) });
    await world.until(a.manager.start());
    await world.until(b.manager.start());
    await world.clock.advance(3000);
    a.clock.kill();
    await world.clock.advance(1010 + 10);
    expect(b.manager.led()).toHaveLength(20);
  });

  test("roles that were lost during a pause of the process are led again", async () => {
    const a = world.participant("a", { roles: plainRoles(2) });
    await world.until(a.manager.start());
    a.clock.pause();
    await world.clock.advance(3000);
    a.clock.resume();
    expect(a.manager.isLeader("r0")).toBe(false);
    await world.clock.advance(500);
    expect(a.manager.led()).toEqual(["r0", "r1"]);
    expect(a.log.filter((each) => each.includes("r0"))).toEqual([
      "promote r0 1",
      "abort r0",
      "demote r0 lapsed",
      "promote r0 2",
    ]);
  });

  test("all renewals of a role manager are sent at the same times", async () => {
    const counts: Record<string, number> = {};
    const moments = new Set<number>();
    const a = world.participant("a", {
      roles: plainRoles(50),
      over: (elector) =>
        new Proxy(counting(counts)(elector), {
          get(target, property) {
            if (property === "renew") moments.add(world.clock.monotonicMs());
            return Reflect.get(target, property, target) as unknown;
          },
        }),
    });
    await world.until(a.manager.start());
    await world.clock.advance(1000);
    expect(counts["renew"]).toBe(5 * 50);
    expect(moments.size).toBe(5);
  });

  test("at most maxCampaigns campaigns are in flight at once, and each role has one watch", async () => {
    const counts: Record<string, number> = {};
    let now = 0;
    let most = 0;
    const a = world.participant("a", {
      roles: plainRoles(30),
      maxCampaigns: 4,
      over: (elector) =>
        new Proxy(counting(counts)(elector), {
          get(target, property) {
            const value = Reflect.get(target, property, target) as (...args: unknown[]) => Promise<unknown>;
            if (property !== "campaign") return value;
            return async (...args: unknown[]) => {
              most = Math.max(most, ++now);
              return value(...args).finally(() => now--);
            };
          },
        }),
    });
    await world.until(a.manager.start());
    expect(a.manager.led()).toHaveLength(30);
    expect(most).toBe(4);
    expect(counts).toMatchObject({ campaign: 30, watch: 30 });
  });

  test("a role manager leads at most maxRoles roles, those of the highest priority first", async () => {
    const roles = { low: { priority: 1 }, high: { priority: 3 }, middle: { priority: 2 }, none: {} };
    const a = world.participant("a", { roles, maxRoles: 2 });
    const b = world.participant("b", { roles });
    await world.until(a.manager.start());
    await world.clock.advance(2000);
    expect(a.manager.led()).toEqual(["high", "middle"]);
    await world.until(b.manager.start());
    expect(b.manager.led()).toEqual(["low", "none"]);
  });

  test("a role with a waiting campaign is handed over in the write that ends its lease", async () => {
    const roles = { r: { campaignWaitMs: 30_000 } };
    const a = world.participant("a", { roles });
    const b = world.participant("b", { roles });
    await world.until(a.manager.start());
    await world.until(b.manager.start());
    await world.clock.advance(2000);
    await world.until(a.manager.stop());
    await world.clock.advance(0);
    expect(b.manager.led()).toEqual(["r"]);
    await world.until(b.manager.stop());
    expect(b.log).toEqual(["promote r 2", "abort r", "demote r stopped"]);
  });

  test("changes() of a role manager delivers all events in one stream", async () => {
    const a = world.participant("a", { roles: { good: {}, bad: {} } });
    const told = kinds(a.manager.changes());
    await world.until(a.manager.start());
    await world.until(a.manager.stop());
    expect(await told).toEqual([
      "role-promoted bad",
      "role-promoted good",
      "role-demoted bad",
      "role-demoted good",
      "stopped",
    ]);
  });

  test('a role hook that throws is reported, and with onPromoteFailure "keep" has no other effect', async () => {
    const { manager } = world.bare("a", { onPromoteFailure: "keep" });
    manager.add("good").add("bad");
    manager.onRolePromote((role) => {
      if (role === "bad") throw new Error("no work");
    });
    manager.onRoleDemote((role) => {
      if (role === "bad") return Promise.reject(new Error("no end"));
    });
    const told = kinds(manager.changes());
    await world.until(manager.start());
    await world.clock.advance(3000);
    expect(manager.led()).toEqual(["bad", "good"]);
    await world.until(manager.stop());
    expect((await told).filter((each) => each.endsWith("bad") || each === "stopped")).toEqual([
      "role-promoted bad",
      "hook-failed onRolePromote bad",
      "hook-failed onRoleDemote bad",
      "role-demoted bad",
      "stopped",
    ]);
    expect((await world.leaders(["good", "bad"])).get("bad")).toBeNull();
  });

  test("roleMetrics reports the led roles, the share and the members", async () => {
    const last: Record<string, number> = {};
    const ends: string[] = [];
    let promotions = 0;
    const set = (name: string) => (node: string, count: number) => (last[`${name} of ${node}`] = count);
    const spread = { group: "team", maxMembers: 2 };
    const roles = plainRoles(4);
    const a = world.participant("a", {
      roles,
      spread,
      roleMetrics: {
        led: set("led"),
        share: set("share"),
        members: set("members"),
        promoted: () => promotions++,
        demoted: (node, reason) => ends.push(`${node} ${reason}`),
      },
    });
    await world.until(a.manager.start());
    expect(last).toEqual({ "led of a": 4, "share of a": 4, "members of a": 1 });
    const b = world.participant("b", { roles, spread });
    await world.until(b.manager.start());
    await world.clock.advance(2000);
    expect(last).toEqual({ "led of a": 2, "share of a": 2, "members of a": 2 });
    expect(ends).toEqual(["a rebalanced", "a rebalanced"]);
    await world.until(b.manager.stop());
    await world.clock.advance(2000);
    expect(last).toEqual({ "led of a": 4, "share of a": 4, "members of a": 1 });
    expect(promotions).toBe(6);
    await world.until(a.manager.stop());
    expect(last["led of a"]).toBe(0);
    expect(ends.slice(2)).toEqual(Array(4).fill("a stopped"));
  });
});

/** All events until the end. */
async function kinds(events: AsyncIterable<RoleEvent>): Promise<readonly string[]> {
  const told: string[] = [];
  for await (const event of events) {
    const hook = event.kind === "hook-failed" ? `${event.hook} ` : "";
    told.push("role" in event ? `${event.kind} ${hook}${event.role}` : event.kind);
  }
  return told;
}

describe("refusals of a role manager", () => {
  test("wrong options and roles are refused by name", () => {
    const { manager } = world.participant("a");
    expect(() => world.participant("b", { more: 1 } as object)).toThrow("more");
    expect(() => world.participant("b", { maxCampaigns: 0 })).toThrow("maxCampaigns");
    expect(() => world.participant("b", { spread: { group: "g", weight: 0 } })).toThrow("spread.weight");
    manager.add("x");
    expect(() => manager.add("x")).toThrow("x was added already");
    expect(() => manager.add("y", { groupId: "x" })).toThrow("x of role y is used already");
    expect(() => manager.add("z", { set: "s", campaignWaitMs: 5 })).toThrow("must be 0 with set");
    expect(() => manager.onRolePromote(() => {})).toThrow("onRolePromote");
  });

  test("a cycle of dependencies is refused at the start", async () => {
    const { manager } = world.participant("a", {
      roles: { a: { dependsOn: ["b"] }, b: { dependsOn: ["a"] } },
    });
    await expect(manager.start()).rejects.toThrow("a -> b -> a");
  });

  test("a role that this node may not lead is reported, and does not delay the others", async () => {
    const a = world.participant("a", { roles: plainRoles(2) });
    await world.until(a.elector.createGroup({ groupId: "r0", allowedNodes: ["b"] }));
    const events: RoleEvent[] = [];
    void (async () => {
      for await (const event of a.manager.changes()) events.push(event);
    })();
    await world.until(a.manager.start());
    expect(a.manager.led()).toEqual(["r1"]);
    expect(events.filter(({ kind }) => kind === "role-failed")).toMatchObject([
      { role: "r0", error: { code: "UNAUTHORIZED" } },
    ]);
    await world.until(a.elector.updateGroup({ groupId: "r0", allowedNodes: null }));
    await world.clock.advance(6000);
    expect(a.manager.led()).toEqual(["r0", "r1"]);
  });
});
