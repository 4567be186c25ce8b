import { describe, expect, test } from "vitest";
import { parseManager, parseRole, type RoleOptions } from "./options.js";
import { RoleGraph } from "./role-graph.js";

const manager = parseManager({ nodeId: "a", ttlMs: 1000 });

function graph(roles: Readonly<Record<string, RoleOptions>>): RoleGraph {
  return new RoleGraph(
    new Map(Object.entries(roles).map(([name, options]) => [name, parseRole(name, options, manager)])),
  );
}

describe("RoleGraph", () => {
  test("RoleGraph puts each role after the roles it depends on, else by name", () => {
    const { order } = graph({ b: { dependsOn: ["z"] }, a: { dependsOn: ["b"] }, z: {}, c: {} });
    expect(order).toEqual(["z", "b", "a", "c"]);
  });

  test("RoleGraph refuses a cycle and names it", () => {
    expect(() =>
      graph({ a: { dependsOn: ["b"] }, b: { dependsOn: ["c"] }, c: { dependsOn: ["a"] } }),
    ).toThrow("a -> b -> c -> a");
    expect(() => graph({ a: { dependsOn: ["a"] } })).toThrow("a -> a");
  });

  test("RoleGraph refuses a dependency on a role that was not added", () => {
    expect(() => graph({ a: { dependsOn: ["b"] } })).toThrow("role a names b, which was not added");
  });

  test("roles that depend on each other or form a set are one unit", () => {
    const { units } = graph({
      a: { dependsOn: ["d"] },
      b: { set: "pair" },
      c: {},
      d: {},
      e: { set: "pair" },
      f: { dependsOn: ["e"] },
    });
    expect(units.map(({ names }) => names)).toEqual([["d", "a"], ["b", "e", "f"], ["c"]]);
  });
});
