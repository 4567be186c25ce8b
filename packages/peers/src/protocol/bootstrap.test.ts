import { describe, expect, it } from "vitest";
import { decideBootstrap, founderOf } from "./bootstrap.js";
import type { PeerState } from "./messages.js";
import { electorate, stateOf } from "./states.test-kit.js";

function answers(...states: readonly PeerState[]): ReadonlyMap<string, PeerState> {
  return new Map(states.map((state) => [state.endpoint, state]));
}

const of = (name: string, founder: string | null = "a") => stateOf(name, { founder });

/** Asked for long enough that every member of an older cluster has announced itself. */
const decide = (own: PeerState, join: readonly string[], given: ReadonlyMap<string, PeerState>) =>
  decideBootstrap(own, join, given, true);

describe("a first start", () => {
  it("has the smallest endpoint of its join list for founder", () => {
    expect(founderOf(["c", "a", "b"])).toBe("a");
    expect(founderOf([])).toBeNull();
  });

  it("founds, as founder, with all its targets once all have answered and name it", () => {
    const decision = decide(of("a"), ["b", "a", "c"], answers(of("a"), of("b"), of("c")));
    expect(decision).toEqual({ kind: "found", config: electorate("abc", 0, 0, "disk-a") });
  });

  it("founds alone if it is its own only target", () => {
    expect(decide(of("a"), ["a"], answers(of("a")))).toEqual({
      kind: "found",
      config: electorate("a", 0, 0, "disk-a"),
    });
  });

  it("founds only after it has asked for so long that members of an older cluster have announced themselves", () => {
    const alone = decideBootstrap(of("a"), ["a"], answers(of("a")), false);
    expect(alone).toMatchObject({ kind: "wait", for: [] });
    expect(alone.kind === "wait" && alone.why).toContain("has announced itself");
    const known = electorate("abc", 4, 2);
    const found = decideBootstrap(of("a"), ["a"], answers(of("a"), { ...of("b"), config: known }), false);
    expect(found).toEqual({ kind: "take", config: known });
  });

  it("founds with its join targets only, whoever else answers", () => {
    const stranger = of("x", "x");
    expect(decide(of("a"), ["a", "b"], answers(of("a"), of("b"), stranger, of("y")))).toEqual({
      kind: "found",
      config: electorate("ab", 0, 0, "disk-a"),
    });
  });

  it("waits for those who are silent", () => {
    const decision = decide(of("a"), ["a", "b", "c"], answers(of("a"), of("b")));
    expect(decision).toMatchObject({ kind: "wait", for: ["c"] });
  });

  it("waits for those who name another founder, or none", () => {
    const decision = decide(of("a"), ["a", "b", "c"], answers(of("a"), of("b", "0"), of("c", null)));
    expect(decision).toMatchObject({ kind: "wait", for: ["b", "c"] });
  });

  it("waits while two targets show one identity: each server needs a bundle of its own", () => {
    const twin = { ...of("c"), identity: "b" };
    const decision = decide(of("a"), ["a", "b", "c"], answers(of("a"), of("b"), twin));
    expect(decision).toMatchObject({ kind: "wait", for: ["b", "c"] });
    expect(decision.kind === "wait" && decision.why).toContain("b and c are both b");
  });

  it("waits for its founder where that is another, also if all have answered", () => {
    const decision = decide(of("b"), ["a", "b"], answers(of("a"), of("b")));
    expect(decision).toMatchObject({ kind: "wait", for: ["a"], why: "a founds the cluster" });
  });

  it("never founds by a list without itself, nor without a list", () => {
    expect(decide(of("a", "b"), ["b"], answers(of("b", "b")))).toMatchObject({
      kind: "wait",
      for: ["b"],
    });
    expect(decide(of("a", null), [], answers())).toMatchObject({ kind: "wait", for: [] });
  });

  it("takes the electorate that it finds, as founder too, before all have answered", () => {
    const known = electorate("bc", 4, 2);
    const decision = decide(of("a"), ["a", "b", "c"], answers(of("a"), { ...of("b"), config: known }));
    expect(decision).toEqual({ kind: "take", config: known });
  });

  it("takes the newest of several, but rather one that it is a member of", () => {
    const older = { ...of("b"), config: electorate("bc", 4, 2) };
    const newer = { ...of("c"), config: electorate("bcd", 5, 0) };
    const mine = { ...of("d"), config: electorate("ad", 1, 0) };
    expect(decide(of("a"), [], answers(older, newer))).toMatchObject({ config: newer.config });
    expect(decide(of("a"), [], answers(older, newer, mine))).toMatchObject({ config: mine.config });
  });
});
