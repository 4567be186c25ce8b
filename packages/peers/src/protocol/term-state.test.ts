import { describe, expect, it } from "vitest";
import type { ActiveMember, Configuration } from "./messages.js";
import { electorate, granted, refused, stateOf } from "./states.test-kit.js";
import { type Outcome, type Round, TermState } from "./term-state.js";

const TTL_MS = 1000;
const TERM = 7;

/** A leader `a` whose rounds go out one after the other, 300 ms apart. */
class Office {
  readonly termState: TermState;
  nowMs = 0;

  constructor(names = "abc") {
    this.termState = new TermState(TERM, "a", TTL_MS, electorate(names, 3, 1), 0);
  }

  round(
    wishes: { active?: string; left?: string; contested?: string; holdStep?: () => string | null } = {},
  ): Round {
    this.nowMs += 300;
    const names = wishes.active ?? Object.keys(this.termState.config.members).join("");
    const active = Array.from(names).map((name): ActiveMember => ({
      identity: name,
      endpoint: name,
      disk: `disk-${name}`,
      ...(wishes.contested === name ? { contested: true } : {}),
    }));
    const sent = { monotonicMs: this.nowMs, bootMs: this.nowMs };
    const { holdStep = () => null, left = "" } = wishes;
    return this.termState.round(sent, { active, left: Array.from(left), holdStep });
  }

  /** These servers grant the round and store what it carries; returns the last outcome. */
  grant(round: Round, names: string, config: Configuration = round.config): Outcome {
    const outcomes = Array.from(names).map((name) =>
      this.termState.answer(round, name, granted(name, { config })),
    );
    return outcomes.at(-1) as Outcome;
  }

  /** Until it leads and has earned its deadline since. */
  static settled(names = "abc"): Office {
    const office = new Office(names);
    office.take(office.round(), names);
    office.grant(office.round(), names);
    return office;
  }

  /** A round that these servers grant and store, and then the leader. */
  take(round: Round, names: string): void {
    this.grant(round, names);
    this.termState.stored(round.config);
  }
}

describe("the first round of a winner", () => {
  it("a winner first sends the same members under [term, 0], and leads once a majority has stored them", () => {
    const office = new Office();
    const round = office.round({ active: "abcd", left: "c" });
    expect(round.config).toEqual(electorate("abc", TERM, 0));
    expect(office.grant(round, "a")).toMatchObject({ store: null });
    expect(office.termState.isLeading).toBe(false);
    expect(office.grant(round, "b")).toMatchObject({ store: round.config });
    expect(office.termState.isLeading).toBe(false);
    office.termState.stored(round.config);
    expect(office.termState.isLeading).toBe(true);
  });

  it("a winner does not lead by grants that have not stored its electorate", () => {
    const office = new Office();
    const outcome = office.grant(office.round(), "abc", electorate("abc", 3, 1));
    expect(outcome).toMatchObject({ store: null });
  });

  it("a winner stores its electorate once", () => {
    const office = new Office();
    const round = office.round();
    expect(office.grant(round, "b")).toMatchObject({ store: round.config });
    expect(office.grant(round, "c")).toMatchObject({ store: null });
  });
});

describe("a round of the leader", () => {
  it("a round moves the deadline once when a majority of the electorate has granted it", () => {
    const office = Office.settled();
    const round = office.round();
    expect(office.grant(round, "a")).toMatchObject({ earned: false });
    expect(office.grant(round, "x")).toMatchObject({ earned: false });
    expect(office.grant(round, "b")).toMatchObject({ earned: true });
    expect(office.grant(round, "c")).toMatchObject({ earned: false });
  });

  it("a round counts only its own answers, and only from the disk in the electorate", () => {
    const office = Office.settled();
    const [first, second] = [office.round(), office.round()];
    expect(office.grant(first, "a")).toMatchObject({ earned: false });
    expect(office.grant(second, "b")).toMatchObject({ earned: false });
    const wiped = granted("b", { disk: "another" });
    expect(office.termState.answer(first, "b", wiped)).toMatchObject({ earned: false });
  });

  it("a round that is granted after a later one moves nothing", () => {
    const office = Office.settled();
    const [first, second] = [office.round(), office.round()];
    expect(office.grant(second, "ab")).toMatchObject({ earned: true });
    expect(office.grant(first, "ab")).toMatchObject({ earned: false });
  });

  it("a term is over at an answer with an epoch of a higher term, but not at a higher term alone", () => {
    const office = Office.settled();
    const round = office.round();
    const higherTerm = refused("b", { term: TERM + 5 });
    expect(office.termState.answer(round, "b", higherTerm)).toMatchObject({ kind: "on", earned: false });
    const newer = electorate("abc", TERM + 1, 0);
    expect(office.termState.answer(round, "b", refused("b", { config: newer }))).toEqual({
      kind: "superseded",
      config: newer,
    });
    const foreign = refused("b", { config: electorate("x", 99, 0, "other") });
    expect(office.termState.answer(round, "b", foreign)).toMatchObject({ kind: "on" });
  });
});

describe("a step of the electorate", () => {
  /** d has granted the latest round and is active. */
  function withNewcomer(): { office: Office; round: Round } {
    const office = Office.settled();
    office.grant(office.round({ active: "abcd" }), "abcd");
    return { office, round: office.round({ active: "abcd" }) };
  }

  it("a step carries one member more under the next n", () => {
    expect(withNewcomer().round.config).toEqual(electorate("abcd", TERM, 1));
  });

  it("a step is done when a majority of the old and of the new members has stored it", () => {
    const { office, round } = withNewcomer();
    expect(office.grant(round, "ad")).toMatchObject({ store: null });
    expect(office.grant(round, "b")).toMatchObject({ store: round.config });
  });

  it("a step remembers across rounds which members have stored it", () => {
    const { office, round } = withNewcomer();
    office.grant(round, "ab");
    expect(office.grant(office.round({ active: "abcd" }), "ad")).toMatchObject({ store: round.config });
  });

  it("the lease depends on the old members while a step is open, and on the new ones afterwards", () => {
    const { office, round } = withNewcomer();
    expect(office.grant(round, "ad")).toMatchObject({ earned: false });
    expect(office.grant(round, "b")).toMatchObject({ earned: true });
    office.termState.stored(round.config);
    const next = office.round({ active: "abcd" });
    expect(office.grant(next, "ab")).toMatchObject({ earned: false });
    expect(office.grant(next, "d")).toMatchObject({ earned: true });
  });

  it("a step is followed by the next only after the new members have moved the deadline", () => {
    const office = Office.settled("abcde");
    const wishes = { active: "abc", left: "de" };
    const first = office.round(wishes);
    expect(first.config).toEqual(electorate("abce", TERM, 1));
    office.take(first, "abe");
    const unearned = office.round(wishes);
    expect(unearned.config).toEqual(first.config);
    office.grant(unearned, "ae");
    expect(office.round(wishes).config).toEqual(first.config);
    office.grant(office.round(wishes), "abe");
    expect(office.round(wishes).config).toEqual(electorate("abc", TERM, 2));
  });

  it("a step is not followed by the next when a late answer completes a round older than the deadline's", () => {
    const office = Office.settled("abcde");
    const wishes = { active: "abc", left: "de" };
    const first = office.round(wishes);
    office.grant(first, "ab");
    const second = office.round(wishes);
    office.grant(second, "ade");
    office.termState.stored(first.config);
    // By now a, b and c have granted the first round: three of the four. But the deadline is that of the second.
    expect(office.grant(first, "c")).toMatchObject({ earned: false });
    expect(office.round(wishes).config).toEqual(first.config);
  });

  it("a step waits while holdStep gives a reason, which is called only if a step is due", () => {
    const office = Office.settled();
    const wishes = { active: "ab", left: "c" };
    expect(office.round({ ...wishes, holdStep: () => "busy" }).config.epoch.n).toBe(0);
    expect(office.termState.hold).toEqual({ reason: "held", detail: "busy" });
    expect(office.round(wishes).config).toEqual(electorate("ab", TERM, 1));
    let isAsked = false;
    const holdStep = (): null => {
      isAsked = true;
      return null;
    };
    Office.settled().round({ holdStep });
    expect(isAsked).toBe(false);
  });

  it("a waiting step gives its reason (not earned, not stored, not reached), and none if no change is due", () => {
    const office = new Office();
    office.take(office.round(), "abc");
    office.round({ active: "ab", left: "c" });
    expect(office.termState.hold).toMatchObject({ reason: "not-earned" });
    const settled = Office.settled();
    settled.round({ active: "abcd" });
    expect(settled.termState.hold?.detail).toMatch(/^d \(d\) announced/);
    settled.grant(settled.round(), "abc");
    expect(settled.termState.hold).toBeNull();
    settled.grant(settled.round({ contested: "b" }), "abc");
    expect(settled.termState.hold).toMatchObject({ reason: "contested" });
    expect(settled.termState.hold?.detail).toContain("two servers announce themselves as b");
    settled.round({ active: "ab", left: "c" });
    expect(settled.termState.hold).toBeNull();
    settled.round({ active: "ab", left: "c" });
    expect(settled.termState.hold).toEqual({
      reason: "not-stored",
      detail: `electorate [${TERM}, 1] is not yet stored by b, c`,
    });
  });

  it("a step that is not done within a ttl is withdrawn, with the old members under the next n", () => {
    const { office, round } = withNewcomer();
    office.grant(round, "ad");
    while (office.nowMs < round.sent.monotonicMs + TTL_MS - 300) {
      expect(office.round({ active: "abcd" }).config).toEqual(round.config);
    }
    const withdrawal = office.round({ active: "abcd" });
    expect(withdrawal.config).toEqual(electorate("abc", TERM, 2));
    expect(office.grant(withdrawal, "b")).toMatchObject({ store: withdrawal.config });
  });

  it("answers to a withdrawn step do not count", () => {
    const { office, round } = withNewcomer();
    while (office.round({ active: "abcd" }).config.epoch.n === 1);
    expect(office.grant(round, "bcd")).toMatchObject({ store: null });
  });

  it("a step is not sent before the first one is done", () => {
    const office = new Office();
    office.grant(office.round({ active: "abcd" }), "ad", electorate("abc", 3, 1));
    expect(office.round({ active: "abcd" }).config.epoch).toEqual({ term: TERM, n: 0 });
  });

  it("a step counts only answers of its own cluster", () => {
    const office = new Office();
    const round = office.round();
    const foreign = electorate("abc", TERM, 0, "other");
    expect(office.grant(round, "bc", foreign)).toMatchObject({ store: null });
    expect(office.termState.answer(round, "b", { granted: true, state: stateOf("b") })).toMatchObject({
      store: null,
    });
  });
});

it("the electorate does not change while all members are there", () => {
  const office = Office.settled();
  for (let i = 0; i < 9; i++) {
    const round = office.round();
    expect(round.config).toEqual(electorate("abc", TERM, 0));
    office.grant(round, "abc");
  }
});
