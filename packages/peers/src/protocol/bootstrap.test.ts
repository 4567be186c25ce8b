import { describe, expect, it } from "vitest";
import { decideBootstrap, founderOf } from "./bootstrap.js";
import type { PeerState } from "./messages.js";
import { electorate, stateOf } from "./states.test-kit.js";

function answers(...states: readonly PeerState[]): ReadonlyMap<string, PeerState> {
  return new Map(states.map((state) => [state.endpoint, state]));
}

const of = (name: string, founder: string | null = "a") => stateOf(name, { founder });

/** Long enough for every member of an older cluster to have announced itself. */
const decide = (own: PeerState, join: readonly string[], given: ReadonlyMap<string, PeerState>) =>
  decideBootstrap(own, join, given, true);

describe("the decision of a first start", () => {
  it("the founder is the smallest endpoint of the join list", () => {
    expect(founderOf(["c", "a", "b"])).toBe("a");
    expect(founderOf([])).toBeNull();
  });

  it("the founder founds the cluster with all its targets once all have answered and name it as founder", () => {
    const decision = decide(of("a"), ["b", "a", "c"], answers(of("a"), of("b"), of("c")));
    expect(decision).toEqual({ kind: "found", config: electorate("abc", 0, 0, "disk-a") });
  });

  it("a server that is its own only join target founds a cluster alone", () => {
    expect(decide(of("a"), ["a"], answers(of("a")))).toEqual({
      kind: "found",
      config: electorate("a", 0, 0, "disk-a"),
    });
  });

  it("the founder waits long enough for members of an older cluster to announce themselves before it founds", () => {
    const alone = decideBootstrap(of("a"), ["a"], answers(of("a")), false);
    expect(alone).toMatchObject({ kind: "wait", for: [] });
    expect(alone.kind === "wait" && alone.why).toContain("has announced itself");
    const known = electorate("abc", 4, 2);
    const found = decideBootstrap(of("a"), ["a"], answers(of("a"), { ...of("b"), config: known }), false);
    expect(found).toEqual({ kind: "take", config: known });
  });

  it("the founder founds with its join targets only, whichever other servers answer", () => {
    const stranger = of("x", "x");
    expect(decide(of("a"), ["a", "b"], answers(of("a"), of("b"), stranger, of("y")))).toEqual({
      kind: "found",
      config: electorate("ab", 0, 0, "disk-a"),
    });
  });

  it("the founder waits for silent targets", () => {
    const decision = decide(of("a"), ["a", "b", "c"], answers(of("a"), of("b")));
    expect(decision).toMatchObject({ kind: "wait", for: ["c"] });
  });

  it("the founder waits for targets that name another founder, or none", () => {
    const decision = decide(of("a"), ["a", "b", "c"], answers(of("a"), of("b", "0"), of("c", null)));
    expect(decision).toMatchObject({ kind: "wait", for: ["b", "c"] });
  });

  it("the founder waits while two targets show one identity, because each server needs its own bundle", () => {
    const twin = { ...of("c"), identity: "b" };
    const decision = decide(of("a"), ["a", "b", "c"], answers(of("a"), of("b"), twin));
    expect(decision).toMatchObject({ kind: "wait", for: ["b", "c"] });
    expect(decision.kind === "wait" && decision.why).toContain("b and c are both b");
  });

  it("a server waits for its founder if that is another server, even if all have answered", () => {
    const decision = decide(of("b"), ["a", "b"], answers(of("a"), of("b")));
    expect(decision).toMatchObject({ kind: "wait", for: ["a"], why: "a founds the cluster" });
  });

  it("a server never founds a cluster by a list without itself, nor without a list", () => {
    expect(decide(of("a", "b"), ["b"], answers(of("b", "b")))).toMatchObject({
      kind: "wait",
      for: ["b"],
    });
    expect(decide(of("a", null), [], answers())).toMatchObject({ kind: "wait", for: [] });
  });

  it("a server adopts an electorate that it finds, even as founder, before all have answered", () => {
    const known = electorate("bc", 4, 2);
    const decision = decide(of("a"), ["a", "b", "c"], answers(of("a"), { ...of("b"), config: known }));
    expect(decision).toEqual({ kind: "take", config: known });
  });

  it("a server adopts the newest of several electorates, but prefers one that it is a member of", () => {
    const older = { ...of("b"), config: electorate("bc", 4, 2) };
    const newer = { ...of("c"), config: electorate("bcd", 5, 0) };
    const mine = { ...of("d"), config: electorate("ad", 1, 0) };
    expect(decide(of("a"), [], answers(older, newer))).toMatchObject({ config: newer.config });
    expect(decide(of("a"), [], answers(older, newer, mine))).toMatchObject({ config: mine.config });
  });
});
