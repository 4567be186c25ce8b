import { describe, expect, it } from "vitest";
import type { AcquireRequest, Configuration, Epoch, RenewRequest, Vote } from "./messages.js";
import {
  decideAcquire,
  decideRenew,
  type HeldVote,
  leaseLeftMs,
  MAX_TERM_JUMP,
  obeysRelease,
  type VoteDecision,
  type VoterState,
} from "./voting.js";

const TTL_MS = 1000;
/** The ttl and a margin of one percent. */
const HOLD_MS = 1010;

function configAt(term: number, n: number, cluster = "cluster"): Configuration {
  const members = { a: { endpoint: "a", disk: "disk-a" }, b: { endpoint: "b", disk: "disk-b" } };
  return { cluster, epoch: { term, n }, members };
}

function at(monotonicMs: number, bootMs = monotonicMs, bootTickMs = 0) {
  return { now: { monotonicMs, bootMs }, bootTickMs, driftRatio: 0.01 };
}

function held(vote: Partial<Vote> = {}, released = false): HeldVote {
  return {
    vote: { term: 5, holderId: "a", holderEndpoint: "a", ttlMs: TTL_MS, ...vote },
    since: { monotonicMs: 0, bootMs: 0 },
    released,
  };
}

function state(heldVote: HeldVote | null, config: Configuration | null = configAt(4, 0)): VoterState {
  return { held: heldVote, config, ttlMs: TTL_MS };
}

function acquire(candidateId: string, term: number, epoch: Epoch = { term: 4, n: 0 }): AcquireRequest {
  return { candidateId, candidateEndpoint: candidateId, term, ttlMs: TTL_MS, cluster: "cluster", epoch };
}

function renew(leaderId: string, term: number, config = configAt(4, 0)): RenewRequest {
  return { leaderId, leaderEndpoint: leaderId, term, ttlMs: TTL_MS, config };
}

function verdict(decision: VoteDecision): string {
  return decision.kind === "grant" ? "granted" : decision.refusal;
}

describe("the length of a lease at its voter", () => {
  it("a lease at its voter lasts for ttl and a margin from the grant", () => {
    expect(leaseLeftMs(held(), at(0))).toBe(HOLD_MS);
    expect(leaseLeftMs(held(), at(HOLD_MS - 1))).toBe(1);
    expect(leaseLeftMs(held(), at(HOLD_MS))).toBe(0);
  });

  it("a lease at its voter also counts boot time, so a suspended voter has not lost that time", () => {
    expect(leaseLeftMs(held(), at(10, HOLD_MS))).toBe(0);
  });

  it("a lease at its voter lasts one boot clock tick longer, because the clock may have been read too early", () => {
    expect(leaseLeftMs(held(), at(10, HOLD_MS, 10))).toBe(10);
  });

  it("a lease at its voter ends when its holder has released it", () => {
    expect(leaseLeftMs(held({}, true), at(1))).toBe(0);
  });
});

describe("decideAcquire", () => {
  it("acquire is granted to the first candidate", () => {
    expect(verdict(decideAcquire(state(null, null), acquire("b", 1, { term: 0, n: 0 }), at(0)))).toBe(
      "granted",
    );
  });

  it.each([
    [4, "term-stale"],
    [5, "term-stale"],
    [6, "granted"],
  ])("acquire of term %i after term 5 is %s", (term, expected) => {
    expect(verdict(decideAcquire(state(held()), acquire("b", term), at(HOLD_MS)))).toBe(expected);
  });

  it("acquire is refused while another's lease is live", () => {
    expect(verdict(decideAcquire(state(held()), acquire("b", 6), at(HOLD_MS - 1)))).toBe("lease-active");
    expect(verdict(decideAcquire(state(held({}, true)), acquire("b", 6), at(1)))).toBe("granted");
  });

  it("acquire of a higher term is granted to the holder itself while its lease is live", () => {
    expect(verdict(decideAcquire(state(held()), acquire("a", 6), at(1)))).toBe("granted");
  });

  it("acquire of the same term is granted to its holder again, unless it has released the lease", () => {
    expect(verdict(decideAcquire(state(held()), acquire("a", 5), at(1)))).toBe("granted");
    expect(verdict(decideAcquire(state(held({}, true)), acquire("a", 5), at(1)))).toBe("released");
  });

  it.each([
    [{ term: 3, n: 9 }, "epoch-stale"],
    [{ term: 4, n: 0 }, "epoch-stale"],
    [{ term: 4, n: 1 }, "granted"],
    [{ term: 5, n: 0 }, "granted"],
  ])("acquire with epoch %j at a voter that knows [4, 1] is %s", (epoch, expected) => {
    const decision = decideAcquire(state(null, configAt(4, 1)), acquire("b", 9, epoch), at(0));
    expect(verdict(decision)).toBe(expected);
  });

  it("acquire of another cluster is refused", () => {
    const decision = decideAcquire(state(null, configAt(0, 0, "other")), acquire("b", 9), at(0));
    expect(verdict(decision)).toBe("other-cluster");
  });

  it("acquire stores no configuration, however new the candidate's is", () => {
    const decision = decideAcquire(state(null, null), acquire("b", 9, { term: 8, n: 0 }), at(0));
    expect(decision).toEqual({
      kind: "grant",
      vote: { term: 9, holderId: "b", holderEndpoint: "b", ttlMs: TTL_MS },
    });
  });

  it("a repeated acquire with a shorter ttl does not shorten the lease", () => {
    const decision = decideAcquire(state(held()), { ...acquire("a", 5), ttlMs: 10 }, at(1));
    expect(decision).toMatchObject({ vote: { ttlMs: TTL_MS } });
  });
});

describe("decideRenew", () => {
  it("renew is granted to the holder of the vote with its term, whether the lease is live or not", () => {
    for (const nowMs of [1, HOLD_MS]) {
      expect(verdict(decideRenew(state(held()), renew("a", 5), at(nowMs)))).toBe("granted");
    }
  });

  it("renew is refused after the release", () => {
    expect(verdict(decideRenew(state(held({}, true)), renew("a", 5), at(1)))).toBe("released");
  });

  it("renew by another is refused while a lease is live, whatever its term", () => {
    expect(verdict(decideRenew(state(held()), renew("b", 9), at(1)))).toBe("lease-active");
  });

  it.each([
    [4, "not-holder"],
    [5, "granted"],
    [6, "granted"],
  ])("renew by another, of term %i after term 5 is over, is %s", (term, expected) => {
    expect(verdict(decideRenew(state(held()), renew("b", term), at(HOLD_MS)))).toBe(expected);
  });

  it("renew by the holder with an older term is refused", () => {
    expect(verdict(decideRenew(state(held()), renew("a", 4), at(1)))).toBe("not-holder");
  });

  it("renew stores its configuration if the epoch is higher", () => {
    const newer = configAt(5, 1);
    expect(decideRenew(state(held(), configAt(5, 0)), renew("a", 5, newer), at(1))).toMatchObject({
      config: newer,
    });
    expect(decideRenew(state(held(), null), renew("a", 5, newer), at(1))).toMatchObject({ config: newer });
    for (const known of [configAt(5, 1), configAt(5, 2), configAt(6, 0)]) {
      expect(decideRenew(state(held(), known), renew("a", 5, newer), at(1))).not.toHaveProperty("config");
    }
  });

  it("renew of another cluster is refused, so its configuration is never adopted", () => {
    const decision = decideRenew(state(held()), renew("a", 5, configAt(9, 0, "other")), at(1));
    expect(decision).toEqual({ kind: "refuse", refusal: "other-cluster" });
  });
});

describe("absurd requests at a voter", () => {
  const after = 5 + MAX_TERM_JUMP;

  it.each([
    [after, "granted"],
    [after + 1, "term-absurd"],
    [Number.MAX_SAFE_INTEGER, "term-absurd"],
  ])("acquire and renew of term %i after term 5 are %s", (term, expected) => {
    expect(verdict(decideAcquire(state(held()), acquire("b", term), at(HOLD_MS)))).toBe(expected);
    expect(verdict(decideRenew(state(held()), renew("b", term), at(HOLD_MS)))).toBe(expected);
  });

  it("an electorate of a term not below the candidate's, or above the leader's, is refused", () => {
    expect(verdict(decideAcquire(state(held()), acquire("b", 6, { term: 6, n: 0 }), at(HOLD_MS)))).toBe(
      "term-absurd",
    );
    expect(verdict(decideRenew(state(held()), renew("b", 6, configAt(7, 0)), at(HOLD_MS)))).toBe(
      "term-absurd",
    );
  });

  it("a ttl above the voter's own is refused", () => {
    const ttlMs = TTL_MS + 1;
    expect(verdict(decideAcquire(state(null), { ...acquire("b", 6), ttlMs }, at(0)))).toBe("ttl-too-long");
    expect(verdict(decideRenew(state(null), { ...renew("b", 6), ttlMs }, at(0)))).toBe("ttl-too-long");
    expect(verdict(decideAcquire(state(null), { ...acquire("b", 6), ttlMs: 100 }, at(0)))).toBe("granted");
  });

  it("a candidate outside the voter's electorate is refused, unless the candidate knows a newer one", () => {
    const asks = (n: number) =>
      verdict(decideAcquire(state(held()), acquire("x", 9, { term: 4, n }), at(HOLD_MS)));
    expect([asks(0), asks(1)]).toEqual(["not-an-elector", "granted"]);
  });

  it("a leader outside the electorate it carries, or named only by an old one, is refused", () => {
    const members = { x: { endpoint: "x", disk: "disk-x" } };
    const named = { ...configAt(4, 0), members };
    const asks = (config: Configuration, known: Configuration) =>
      verdict(decideRenew(state(held(), known), renew("x", 9, config), at(HOLD_MS)));
    expect(asks(configAt(5, 0), configAt(4, 0))).toBe("not-an-elector");
    expect(asks(named, configAt(4, 0))).toBe("not-an-elector");
    expect(asks(named, configAt(3, 0))).toBe("granted");
  });
});

describe("obeysRelease", () => {
  it.each([
    ["a", 5, true],
    ["a", 4, false],
    ["a", 6, false],
    ["b", 5, false],
  ])("a release by %s of term %i, where a holds term 5, is obeyed: %s", (leaderId, term, expected) => {
    expect(obeysRelease(state(held()), { leaderId, term })).toBe(expected);
  });
});
