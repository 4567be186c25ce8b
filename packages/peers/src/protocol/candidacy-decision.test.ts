import { describe, expect, it } from "vitest";
import { decideCandidacy, readMajority, tallyVotes } from "./candidacy-decision.js";
import type { PeerState } from "./messages.js";
import { electorate, granted, leaseOf, refused, stateOf } from "./states.test-kit.js";

const own = stateOf("a");

describe("a node stands", () => {
  it("if a majority of its electorate answers and nobody leads, for the highest term seen and one", () => {
    const others = [stateOf("b", { term: 7 }), stateOf("x", { term: 3 })];
    expect(decideCandidacy(own, electorate("abc"), others)).toMatchObject({ kind: "stand", term: 8 });
  });

  it("not if fewer than a majority answer", () => {
    const decision = decideCandidacy(own, electorate("abc"), [stateOf("x"), stateOf("y")]);
    expect(decision).toMatchObject({ kind: "stand-back", why: "no-majority" });
  });

  it("not if its own vote holds another's live lease", () => {
    const itself = stateOf("a", { lease: leaseOf("c", 4) });
    expect(decideCandidacy(itself, electorate("abc"), [stateOf("b"), stateOf("c")])).toMatchObject({
      why: "lease-active",
    });
  });

  it("not if so many electors hold another's live lease that the free ones are no majority", () => {
    const led = (name: string) => stateOf(name, { lease: leaseOf("c", 4) });
    const ask = (...others: readonly PeerState[]) => decideCandidacy(own, electorate("abcde"), others);
    expect(ask(stateOf("b"), led("c"), led("d"), led("e"))).toMatchObject({ why: "lease-active" });
    expect(ask(stateOf("b"), led("c"))).toMatchObject({ why: "lease-active" });
    expect(ask(led("c"))).toMatchObject({ why: "no-majority" });
    expect(ask(stateOf("b"), stateOf("d"), led("c"), led("e"))).toMatchObject({ kind: "stand" });
  });

  it("although a server that is no elector, or one over another disk, shows a live lease", () => {
    const others = [stateOf("b"), stateOf("x", { lease: leaseOf("c", 4) })];
    expect(decideCandidacy(own, electorate("abc"), others)).toMatchObject({ kind: "stand" });
    const wiped = stateOf("c", { disk: "another", lease: leaseOf("c", 4) });
    expect(decideCandidacy(own, electorate("abc"), [stateOf("b"), wiped])).toMatchObject({ kind: "stand" });
  });

  it("for a term above that of the electorate it knows, though no voter shows that term", () => {
    expect(decideCandidacy(own, electorate("abc", 7, 0), [stateOf("b")])).toMatchObject({ term: 8 });
  });

  it("if the live lease is its own, of a former life: for a term above that", () => {
    const held = { term: 4, lease: leaseOf("a", 4) };
    const decision = decideCandidacy({ ...own, ...held }, electorate("abc"), [stateOf("b", held)]);
    expect(decision).toMatchObject({ kind: "stand", term: 5 });
  });

  it("on the newest electorate that any answer shows", () => {
    const newer = electorate("abcde", 3, 1);
    const others = [stateOf("b", { config: newer }), stateOf("c", { config: electorate("abcd", 3, 0) })];
    expect(decideCandidacy(own, electorate("abc", 2, 9), others)).toMatchObject({
      kind: "stand",
      config: newer,
    });
  });

  it("not if it is no member of that, or only over another disk", () => {
    const others = [stateOf("b", { config: electorate("bc", 3, 1) }), stateOf("c")];
    expect(decideCandidacy(own, electorate("abc"), others)).toMatchObject({ why: "not-an-elector" });
    const wiped = stateOf("a", { disk: "another" });
    expect(decideCandidacy(wiped, electorate("abc"), [stateOf("b")])).toMatchObject({
      why: "not-an-elector",
    });
  });

  it("without counting whoever answers over another disk than the electorate's", () => {
    const others = [stateOf("b", { disk: "another" })];
    expect(decideCandidacy(own, electorate("abc"), others)).toMatchObject({ why: "no-majority" });
  });

  it("without regard to another cluster: neither its electorate, nor its terms, nor its leader", () => {
    const stranger = stateOf("x", {
      config: electorate("x", 9, 9, "other"),
      term: 99,
      lease: leaseOf("x", 99),
    });
    const decision = decideCandidacy(own, electorate("abc"), [stateOf("b"), stranger]);
    expect(decision).toMatchObject({ kind: "stand", term: 1, config: electorate("abc") });
  });
});

describe("a candidacy", () => {
  const config = electorate("abc", 2, 0);

  it("is won by a majority of the electorate it names, and by nobody else's votes", () => {
    expect(tallyVotes(config, [granted("a"), granted("b")])).toEqual({ kind: "won" });
    expect(tallyVotes(config, [granted("a"), granted("x"), granted("y")])).toEqual({ kind: "open" });
  });

  it("counts a vote only from the disk in the electorate, and each voter once", () => {
    expect(tallyVotes(config, [granted("a"), granted("b", { disk: "another" })])).toEqual({ kind: "open" });
    expect(tallyVotes(config, [granted("a"), granted("a")])).toEqual({ kind: "open" });
  });

  it("is lost once no majority can come any more", () => {
    expect(tallyVotes(config, [granted("a"), refused("b")])).toEqual({ kind: "open" });
    expect(tallyVotes(config, [granted("a"), refused("b"), refused("c")])).toEqual({ kind: "lost" });
  });

  it("is outdated by any answer that shows a higher epoch, even a grant, even with a majority", () => {
    const newer = electorate("abcd", 2, 1);
    const verdicts = [granted("a"), granted("b"), granted("x", { config: newer })];
    expect(tallyVotes(config, verdicts)).toEqual({ kind: "outdated", config: newer });
    const foreign = granted("x", { config: electorate("x", 9, 0, "other") });
    expect(tallyVotes(config, [granted("a"), granted("b"), foreign])).toEqual({ kind: "won" });
  });
});

describe("a read", () => {
  const config = electorate("abc");

  it("needs a majority of the electorate", () => {
    expect(readMajority(config, [stateOf("a"), stateOf("x")])).toBeNull();
    expect(readMajority(config, [stateOf("a"), stateOf("b")])).toEqual({ lease: null, term: 0 });
  });

  it("shows the lease of the highest term", () => {
    const states = [
      stateOf("a", { term: 3, lease: leaseOf("a", 3) }),
      stateOf("b", { term: 4, lease: leaseOf("c", 4) }),
    ];
    expect(readMajority(config, states)).toMatchObject({ lease: { leaderId: "c", term: 4 }, term: 4 });
  });

  it("shows nobody who says itself that it does not lead", () => {
    const lease = leaseOf("b", 4);
    const led = [stateOf("a", { term: 4, lease }), stateOf("b", { term: 4, lease, leading: true })];
    expect(readMajority(config, led)).toMatchObject({ lease: { leaderId: "b" } });
    const candidate = [stateOf("a", { term: 4, lease }), stateOf("b", { term: 4, lease })];
    expect(readMajority(config, candidate)).toEqual({ lease: null, term: 4 });
  });
});
