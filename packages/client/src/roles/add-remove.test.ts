/** Roles that are added and removed while a manager runs. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { plainRoles, World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

describe("adding and removing roles while a role manager runs", () => {
  test("a running role manager leads an added role and resigns a removed one", async () => {
    const a = world.participant("a", { roles: plainRoles(1) });
    await world.until(a.manager.start());
    a.manager.add("late", { groupId: "group-of-late" });
    await world.clock.advance(50);
    expect(a.manager.led()).toEqual(["r0", "late"]);
    expect(a.manager.mandate("late")).toMatchObject({ groupId: "group-of-late", term: 1 });
    await world.until(a.manager.remove("r0"));
    expect(a.log.filter((line) => line.includes("r0"))).toEqual([
      "promote r0 1",
      "abort r0",
      "demote r0 removed",
    ]);
    expect(a.manager.status().roles.map(({ role }) => role)).toEqual(["late"]);
    await world.clock.advance(3000);
    expect(await world.leaders(["r0", "group-of-late"])).toEqual(
      new Map([
        ["r0", null],
        ["group-of-late", "a"],
      ]),
    );
  });

  test("a role manager leads a role again that was removed and added again", async () => {
    const a = world.participant("a", { roles: plainRoles(1) });
    await world.until(a.manager.start());
    await world.until(a.manager.remove("r0"));
    a.manager.add("r0");
    await world.clock.advance(50);
    expect(a.manager.mandate("r0")).toMatchObject({ term: 2 });
  });

  test("remove waits for the work of the role, and a second call waits for the same end", async () => {
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const a = world.participant("a", { roles: plainRoles(1), work: () => ended });
    await world.until(a.manager.start());
    const removals = [a.manager.remove("r0"), a.manager.remove("r0")];
    let removed = 0;
    for (const removal of removals) void removal.then(() => (removed += 1));
    await world.clock.advance(5000);
    expect(removed).toBe(0);
    expect(() => a.manager.add("r0")).toThrow("r0 was added already");
    expect(await world.leaders(["r0"])).toEqual(new Map([["r0", "a"]]));
    end();
    await world.until(Promise.all(removals));
    expect(await world.leaders(["r0"])).toEqual(new Map([["r0", null]]));
  });

  test("roles that are added at every process are shared evenly", async () => {
    const shared = { roles: plainRoles(4), spread: { group: "team", maxMembers: 4 } };
    const nodes = ["a", "b"].map((nodeId) => world.participant(nodeId, shared));
    for (const { manager } of nodes) void manager.start();
    await world.clock.advance(3000);
    for (const { manager } of nodes) for (const role of ["s0", "s1", "s2", "s3"]) manager.add(role);
    await world.clock.advance(3000);
    expect(nodes.map(({ manager }) => manager.led().length)).toEqual([4, 4]);
  });

  test("a running role manager refuses to add or remove a role with dependencies or in a set", async () => {
    const roles = { base: {}, top: { dependsOn: ["base"] }, x: { set: "pair" }, y: { set: "one" } };
    const a = world.participant("a", { roles });
    await world.until(a.manager.start());
    expect(() => a.manager.add("more", { dependsOn: ["base"] })).toThrow(
      "dependsOn of role more must be given before start",
    );
    expect(() => a.manager.add("z", { set: "pair" })).toThrow("set of role z must be given before start");
    for (const role of ["base", "top", "x", "y"]) {
      await expect(a.manager.remove(role)).rejects.toThrow(`role ${role} cannot be removed`);
    }
    await expect(a.manager.remove("none")).rejects.toThrow("role none was not added");
  });

  test("remove works before start, and add and remove are refused after stop", async () => {
    const a = world.participant("a", { roles: plainRoles(2) });
    await a.manager.remove("r0");
    await world.until(a.manager.start());
    expect(a.manager.led()).toEqual(["r1"]);
    await world.until(a.manager.stop());
    expect(() => a.manager.add("r2")).toThrow("add must be called before stop");
    await expect(a.manager.remove("r1")).rejects.toThrow("remove must be called before stop");
  });
});
