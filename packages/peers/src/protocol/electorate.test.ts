import { describe, expect, it } from "vitest";
import { nextMembers } from "./electorate.js";
import type { ActiveMember } from "./messages.js";
import { electorate } from "./states.test-kit.js";

const member = (name: string): ActiveMember => ({ identity: name, endpoint: name, disk: `disk-${name}` });
const members = (names: string): readonly ActiveMember[] => Array.from(names).map(member);
const asMap = (all: readonly ActiveMember[]) => new Map(all.map((each) => [each.identity, each]));

/** The electorate after the next step, abbreviated; the leader is `a`. */
function next(
  from: string,
  active: readonly ActiveMember[],
  rest: { left?: string; reached?: readonly ActiveMember[]; heard?: string } = {},
): string | null {
  const { left = "", reached = active, heard = "" } = rest;
  const after = nextMembers(electorate(from), "a", {
    active,
    left: Array.from(left),
    reached: asMap(reached),
    heard: new Set(heard),
  });
  return after === null ? null : Object.keys(after).toSorted().join("");
}

describe("the next electorate", () => {
  it("the electorate stays unchanged while all are active and no server came", () => {
    expect(next("abc", members("abc"))).toBeNull();
  });

  it("the electorate changes by one member per step", () => {
    expect(next("abc", members("abcdef"))).toBe("abcd");
    expect(next("abcde", members("a"), { left: "bcde" })).toBe("acde");
    expect(next("abc", members("abde"), { left: "c" })).toBe("ab");
  });

  it("the electorate adds a server that granted the latest round at the announced endpoint with the announced disk", () => {
    const [d] = members("d") as [ActiveMember];
    expect(next("abc", members("abcd"), { reached: members("abc") })).toBeNull();
    for (const wrong of [{ endpoint: "elsewhere" }, { disk: "another" }]) {
      expect(next("abc", members("abcd"), { reached: [...members("abc"), { ...d, ...wrong }] })).toBeNull();
    }
    expect(next("abc", members("abcd"))).toBe("abcd");
  });

  it("the electorate does not take back a server that has left, even if it still answers", () => {
    expect(next("abc", members("abcd"), { left: "d" })).toBeNull();
  });

  it("the electorate adds and moves an identity that is named like a property of every object", () => {
    const named = { identity: "constructor", endpoint: "x", disk: "disk-x" };
    const wishes = { active: [...members("abc"), named], left: [], heard: new Set<string>() };
    const added = nextMembers(electorate("abc"), "a", { ...wishes, reached: asMap([named]) });
    expect(Object.keys(added ?? {})).toContain("constructor");
    const config = { ...electorate("abc"), members: added ?? {} };
    expect(nextMembers(config, "a", { ...wishes, reached: asMap([named]) })).toBeNull();
  });

  it("the electorate drops a server that has left, whatever its new size", () => {
    expect(next("abc", members("ab"), { left: "c" })).toBe("ab");
    expect(next("ab", members("a"), { left: "b" })).toBe("a");
  });

  it.each([
    ["abcd", "abc", "abc"],
    ["abc", "ab", null],
    ["abcde", "abcd", null],
    ["abcde", "abc", "abce"],
    ["abce", "abc", "abc"],
  ])(
    "an electorate of %s with %s active becomes %s: an expired server is dropped only towards an odd number",
    (from, active, expected) => {
      expect(next(from, members(active))).toBe(expected);
    },
  );

  it("the electorate keeps an elector whose announcements are lost while it grants the leader's rounds", () => {
    expect(next("abc", members("a"), { heard: "bc" })).toBeNull();
    expect(next("abcde", members("a"), { heard: "bcde" })).toBeNull();
    expect(next("abcd", members("abc"), { heard: "d" })).toBeNull();
    expect(next("abcde", members("a"), { heard: "bd" })).toBe("abde");
  });

  it("the electorate drops an elector that left although it still grants the leader's rounds", () => {
    expect(next("abc", members("ab"), { left: "c", heard: "bc" })).toBe("ab");
  });

  it("the electorate drops a server that came back with another disk, and adds it in a later step", () => {
    const wiped = { identity: "c", endpoint: "c", disk: "new" };
    expect(next("abc", [...members("ab"), wiped])).toBe("ab");
    const after = nextMembers(electorate("ab"), "a", {
      active: [...members("ab"), wiped],
      left: [],
      reached: asMap([wiped]),
      heard: new Set(),
    });
    expect(after?.["c"]).toEqual({ endpoint: "c", disk: "new" });
  });

  it("the electorate uses the new endpoint of a server that moved once it is reached, with the same voters", () => {
    const moved = { identity: "c", endpoint: "elsewhere", disk: "disk-c" };
    const active = [...members("ab"), moved];
    const wishes = { active, left: [], heard: new Set<string>() };
    expect(nextMembers(electorate("abc"), "a", { ...wishes, reached: asMap(members("c")) })).toBeNull();
    expect(nextMembers(electorate("abc"), "a", { ...wishes, reached: asMap([moved]) })).toEqual({
      ...electorate("abc").members,
      c: { endpoint: "elsewhere", disk: "disk-c" },
    });
  });

  it("the electorate does not change a voter while two disks announce themselves under its identity in turn", () => {
    const twin = { ...member("c"), disk: "new", contested: true } as const;
    expect(next("abc", [...members("ab"), twin])).toBeNull();
    expect(next("ab", [...members("ab"), twin])).toBeNull();
  });

  it("the electorate never drops its leader, even if it expired, left or has another disk", () => {
    expect(next("abcd", members("bcd"))).toBeNull();
    expect(next("abc", members("bc"), { left: "a" })).toBeNull();
    expect(next("abc", [...members("bc"), { ...member("a"), disk: "new" }], { reached: [] })).toBeNull();
  });
});
