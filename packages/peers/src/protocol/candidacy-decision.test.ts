import { describe, expect, it } from "vitest";
import { decideCandidacy, readMajority, tallyVotes } from "./candidacy-decision.js";
import type { PeerState } from "./messages.js";
import { electorate, granted, leaseOf, refused, stateOf } from "./states.test-kit.js";

const own = stateOf("a");

describe("the decision to stand as a candidate", () => {
  it("a node stands for the highest term seen plus one if a majority of its electorate answers and no leader is known", () => {
    const others = [stateOf("b", { term: 7 }), stateOf("x", { term: 3 })];
    expect(decideCandidacy(own, electorate("abc"), others)).toMatchObject({ kind: "stand", term: 8 });
  });

  it("a node does not stand if fewer than a majority answer", () => {
    const decision = decideCandidacy(own, electorate("abc"), [stateOf("x"), stateOf("y")]);
    expect(decision).toMatchObject({ kind: "stand-back", why: "no-majority" });
  });

  it("a node does not stand if its own vote holds another's live lease", () => {
    const itself = stateOf("a", { lease: leaseOf("c", 4) });
    expect(decideCandidacy(itself, electorate("abc"), [stateOf("b"), stateOf("c")])).toMatchObject({
      why: "lease-active",
    });
  });

  it("a node does not stand if electors without another's live lease are not a majority", () => {
    const led = (name: string) => stateOf(name, { lease: leaseOf("c", 4) });
    const ask = (...others: readonly PeerState[]) => decideCandidacy(own, electorate("abcde"), others);
    expect(ask(stateOf("b"), led("c"), led("d"), led("e"))).toMatchObject({ why: "lease-active" });
    expect(ask(stateOf("b"), led("c"))).toMatchObject({ why: "lease-active" });
    expect(ask(led("c"))).toMatchObject({ why: "no-majority" });
    expect(ask(stateOf("b"), stateOf("d"), led("c"), led("e"))).toMatchObject({ kind: "stand" });
  });

  it("a node stands although a server that is not an elector, or has another disk, shows a live lease", () => {
    const others = [stateOf("b"), stateOf("x", { lease: leaseOf("c", 4) })];
    expect(decideCandidacy(own, electorate("abc"), others)).toMatchObject({ kind: "stand" });
    const wiped = stateOf("c", { disk: "another", lease: leaseOf("c", 4) });
    expect(decideCandidacy(own, electorate("abc"), [stateOf("b"), wiped])).toMatchObject({ kind: "stand" });
  });

  it("a node stands for a term above that of the electorate it knows, even if no voter shows that term", () => {
    expect(decideCandidacy(own, electorate("abc", 7, 0), [stateOf("b")])).toMatchObject({ term: 8 });
  });

  it("a node stands if the live lease is its own from an earlier start, for a higher term", () => {
    const held = { term: 4, lease: leaseOf("a", 4) };
    const decision = decideCandidacy({ ...own, ...held }, electorate("abc"), [stateOf("b", held)]);
    expect(decision).toMatchObject({ kind: "stand", term: 5 });
  });

  it("a node stands on the newest electorate that any answer shows", () => {
    const newer = electorate("abcde", 3, 1);
    const others = [stateOf("b", { config: newer }), stateOf("c", { config: electorate("abcd", 3, 0) })];
    expect(decideCandidacy(own, electorate("abc", 2, 9), others)).toMatchObject({
      kind: "stand",
      config: newer,
    });
  });

  it("a node does not stand if it is not a member of that electorate, or only with another disk", () => {
    const others = [stateOf("b", { config: electorate("bc", 3, 1) }), stateOf("c")];
    expect(decideCandidacy(own, electorate("abc"), others)).toMatchObject({ why: "not-an-elector" });
    const wiped = stateOf("a", { disk: "another" });
    expect(decideCandidacy(wiped, electorate("abc"), [stateOf("b")])).toMatchObject({
      why: "not-an-elector",
    });
  });

  it("a node does not count an answer from another disk than the electorate's", () => {
    const others = [stateOf("b", { disk: "another" })];
    expect(decideCandidacy(own, electorate("abc"), others)).toMatchObject({ why: "no-majority" });
  });

  it("a node ignores another cluster: its electorate, its terms and its leader", () => {
    const stranger = stateOf("x", {
      config: electorate("x", 9, 9, "other"),
      term: 99,
      lease: leaseOf("x", 99),
    });
    const decision = decideCandidacy(own, electorate("abc"), [stateOf("b"), stranger]);
    expect(decision).toMatchObject({ kind: "stand", term: 1, config: electorate("abc") });
  });
});

describe("the count of a candidacy", () => {
  const config = electorate("abc", 2, 0);

  it("a candidacy is won by a majority of the electorate it names, and by no other votes", () => {
    expect(tallyVotes(config, [granted("a"), granted("b")])).toEqual({ kind: "won" });
    expect(tallyVotes(config, [granted("a"), granted("x"), granted("y")])).toEqual({ kind: "open" });
  });

  it("a candidacy counts a vote only from the disk in the electorate, and each voter once", () => {
    expect(tallyVotes(config, [granted("a"), granted("b", { disk: "another" })])).toEqual({ kind: "open" });
    expect(tallyVotes(config, [granted("a"), granted("a")])).toEqual({ kind: "open" });
  });

  it("a candidacy is lost once a majority is no longer possible", () => {
    expect(tallyVotes(config, [granted("a"), refused("b")])).toEqual({ kind: "open" });
    expect(tallyVotes(config, [granted("a"), refused("b"), refused("c")])).toEqual({ kind: "lost" });
  });

  it("a candidacy is outdated by any answer with a higher epoch, even by a grant and with a majority", () => {
    const newer = electorate("abcd", 2, 1);
    const verdicts = [granted("a"), granted("b"), granted("x", { config: newer })];
    expect(tallyVotes(config, verdicts)).toEqual({ kind: "outdated", config: newer });
    const foreign = granted("x", { config: electorate("x", 9, 0, "other") });
    expect(tallyVotes(config, [granted("a"), granted("b"), foreign])).toEqual({ kind: "won" });
  });
});

describe("a read from a majority", () => {
  const config = electorate("abc");

  it("a read needs a majority of the electorate", () => {
    expect(readMajority(config, [stateOf("a"), stateOf("x")])).toBeNull();
    expect(readMajority(config, [stateOf("a"), stateOf("b")])).toEqual({ lease: null, term: 0 });
  });

  it("a read shows the lease of the highest term", () => {
    const states = [
      stateOf("a", { term: 3, lease: leaseOf("a", 3) }),
      stateOf("b", { term: 4, lease: leaseOf("c", 4) }),
    ];
    expect(readMajority(config, states)).toMatchObject({ lease: { leaderId: "c", term: 4 }, term: 4 });
  });

  it("a read does not show a holder whose own answer says that it does not lead", () => {
    const lease = leaseOf("b", 4);
    const led = [stateOf("a", { term: 4, lease }), stateOf("b", { term: 4, lease, leading: true })];
    expect(readMajority(config, led)).toMatchObject({ lease: { leaderId: "b" } });
    const candidate = [stateOf("a", { term: 4, lease }), stateOf("b", { term: 4, lease })];
    expect(readMajority(config, candidate)).toEqual({ lease: null, term: 4 });
  });
});
