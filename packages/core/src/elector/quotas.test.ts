/** Limits on the number of groups, in total and per node. */
import { expect, test } from "vitest";
import { A, claimOf, failureOf, inWorld, lostAnswer, lostRequest, type World } from "./world.test-kit.js";
import type { StoreElector, StoreElectorOptions } from "./store-elector.js";

async function codeOf(w: World, work: Promise<unknown>): Promise<string> {
  const { value } = await w.until(
    work.then(
      () => "done",
      (error: unknown) => (error as { code?: string }).code ?? "none",
    ),
  );
  return value;
}

async function found(
  w: World,
  elector: StoreElector,
  nodeId: string,
  ids: readonly string[],
): Promise<string[]> {
  return Promise.all(
    ids.map((groupId) => codeOf(w, elector.campaign({ ...A, groupId, nodeId, instanceId: nodeId }))),
  );
}

const ids = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}${i}`);
const count = (codes: readonly string[], code: string) => codes.filter((each) => each === code).length;

function server(w: World, options: Partial<StoreElectorOptions>): StoreElector {
  return w.server({ keepMembers: true, ...options }).elector;
}

test(
  "a node can found at most maxGroupsPerNode groups, even concurrently, and the error names the option and the bound",
  inWorld(async (w) => {
    const elector = server(w, { maxGroupsPerNode: 5 });
    const codes = await found(w, elector, "a", ids("a", 20));
    expect([count(codes, "done"), count(codes, "TOO_MANY_GROUPS")]).toEqual([5, 15]);
    const refused = failureOf(elector.campaign({ ...A, groupId: "one-more", waitMs: 1000 }));
    expect((await w.until(refused)).value).toMatchObject({
      code: "TOO_MANY_GROUPS",
      option: "maxGroupsPerNode",
      limit: 5,
      message: expect.stringMatching(/one-more.* 5 .*maxGroupsPerNode.*delete/) as string,
    });
    expect(await found(w, elector, "b", ["b0"])).toEqual(["done"]);
    // An existing group is open to every node.
    expect((await w.until(elector.campaign({ ...A, groupId: "b0", nodeId: "a" }))).value.kind).toBe("lost");
    await w.clock.advance(30_000);
    expect((await w.until(elector.groups())).value.groups).toHaveLength(6);
    expect(await w.entry("m/one-more")).toBeUndefined();
  }),
);

test(
  "the founder of a group survives handovers, other servers and restarts, and a deletion frees its place",
  inWorld(async (w) => {
    const first = server(w, { maxGroupsPerNode: 2 });
    await found(w, first, "a", ["g0", "g1"]);
    await w.until(first.resign(claimOf({ ...A, groupId: "g0", instanceId: "a" }, 1)));
    await found(w, first, "b", ["g0"]);
    const second = server(w, { maxGroupsPerNode: 2 });
    for (const elector of [first, second]) {
      expect(await found(w, elector, "a", ["g2"])).toEqual(["TOO_MANY_GROUPS"]);
    }
    await w.until(second.deleteGroup({ groupId: "g0", by: "ops", force: true }));
    expect(await found(w, second, "a", ["g2", "g3"])).toEqual(["done", "TOO_MANY_GROUPS"]);
    // A group that an operator configured no longer counts for its founder.
    await w.until(first.createGroup({ groupId: "g2" }));
    expect(await found(w, first, "a", ["g3"])).toEqual(["done"]);
  }),
);

test(
  "a server that has just started counts the groups in the store before a node may found one",
  inWorld(async (w) => {
    await found(w, server(w, { maxGroupsPerNode: 2 }), "a", ["g0", "g1"]);
    const { elector } = w.farServer({ maxGroupsPerNode: 2 });
    // Requested in the same turn in which the elector was opened.
    expect(await codeOf(w, elector.campaign({ ...A, groupId: "g2" }))).toBe("TOO_MANY_GROUPS");
  }),
);

test(
  "a hundredth of maxGroups is reserved for operators, who are refused at maxGroups",
  inWorld(async (w) => {
    const elector = server(w, { maxGroups: 200 });
    const codes = await found(w, elector, "a", ids("g", 220));
    expect([count(codes, "done"), count(codes, "TOO_MANY_GROUPS")]).toEqual([198, 22]);
    expect(await codeOf(w, elector.createGroup({ groupId: "op0" }))).toBe("done");
    expect(await codeOf(w, elector.pause({ groupId: "op1", create: true }))).toBe("done");
    expect(await codeOf(w, elector.createGroup({ groupId: "op2" }))).toBe("TOO_MANY_GROUPS");
    await w.until(elector.deleteGroup({ groupId: "op1", by: "ops" }));
    expect(await codeOf(w, elector.createGroup({ groupId: "op2" }))).toBe("done");
    // Existing groups work as before.
    expect(await codeOf(w, elector.updateGroup({ groupId: "g0", allowedNodes: ["a"] }))).toBe("done");
  }),
);

test(
  "a founding campaign whose answer was lost is not refused because of the place it takes itself",
  inWorld(async (w) => {
    const { elector, store } = w.server({ maxGroupsPerNode: 1 });
    await w.clock.advance(0);
    store.next("r/", lostAnswer);
    expect(await found(w, elector, "a", ["g0"])).toEqual(["done"]);
    expect(await found(w, elector, "a", ["g1"])).toEqual(["TOO_MANY_GROUPS"]);
  }),
);

test(
  "a founding campaign whose request was lost counts for its founder if it is written later",
  inWorld(async (w) => {
    const { elector, store } = w.server({ maxGroupsPerNode: 1 });
    await w.clock.advance(0);
    store.next("r/", lostRequest);
    expect(await found(w, elector, "a", ["g0"])).toEqual(["done"]);
    expect((await w.record("g0")).founder).toBe("a");
    expect(await found(w, elector, "a", ["g1"])).toEqual(["TOO_MANY_GROUPS"]);
  }),
);

test(
  "a heartbeat to a group that does not exist is refused and writes nothing",
  inWorld(async (w) => {
    const elector = server(w, {});
    expect(await codeOf(w, elector.heartbeat({ groupId: "never", nodeId: "d" }))).toBe("GROUP_NOT_FOUND");
    await w.until(elector.createGroup({ groupId: "was" }));
    expect(await codeOf(w, elector.heartbeat({ groupId: "was", nodeId: "d" }))).toBe("done");
    await w.until(elector.deleteGroup({ groupId: "was", by: "ops" }));
    expect(await codeOf(w, elector.heartbeat({ groupId: "was", nodeId: "d" }))).toBe("GROUP_NOT_FOUND");
    await w.clock.advance(15_000);
    expect(await w.entry("m/never")).toBeUndefined();
    expect(await w.entry("r/never")).toBeUndefined();
  }),
);

test(
  "limits that are not whole numbers of at least 1 are refused",
  inWorld(async (w) => {
    for (const wrong of [0, -1, 1.5, Number.NaN, "5"]) {
      expect(() => server(w, { maxGroups: wrong as number })).toThrow("maxGroups");
      expect(() => server(w, { maxGroupsPerNode: wrong as number })).toThrow("maxGroupsPerNode");
    }
  }),
);
