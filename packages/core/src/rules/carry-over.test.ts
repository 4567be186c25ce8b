import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holdMs, leadMs } from "../lease-time.js";
import { DEFAULT_POLICY } from "../policy.js";
import { EMPTY_RECORD, type ElectionRecord, type Holder, type Observation } from "../record.js";
import { decideCampaign } from "./campaign.js";
import { carryOver } from "./carry-over.js";
import { decideCreate, decideUpdate } from "./configure.js";
import { decidePause, decideResume, decideStepDown, decideTransfer } from "./operate.js";
import { decideRenew } from "./renew.js";
import { decideResign } from "./resign.js";
import { decideUpkeep } from "./upkeep.js";
import { successors, waitersOf } from "./waiters.test-kit.js";

const STAMP = { wallMs: 0 };
const RHO = 0.01;
const holder: Holder = { nodeId: "a", instanceId: "i1", ttlMs: 1_000, priority: 0, metadata: null };
const config = { policy: DEFAULT_POLICY, allowedNodes: null };

/** A led record with every ban, transfer, pause and delay that a record can have. */
const marked: ElectionRecord = {
  ...EMPTY_RECORD,
  term: 4,
  holder,
  holdMs: 1_010,
  bans: [
    { nodeId: "x", leftMs: 300 },
    { nodeId: "y", leftMs: 5_000 },
  ],
  transfer: { toNodeId: "b", leftMs: 2_000, ready: false, by: "operator" },
  pause: { leftMs: 900 },
  delayMs: 700,
};

describe("carryOver", () => {
  test("carryOver with age 0 leaves everything as it was written", () => {
    expect(carryOver(marked, 0)).toEqual(marked);
  });

  test("carryOver subtracts the age from each duration and drops bans, pauses and transfers that are over", () => {
    expect(carryOver(marked, 900)).toEqual({
      ...marked,
      holdMs: 110,
      bans: [{ nodeId: "y", leftMs: 4_100 }],
      transfer: { ...marked.transfer, leftMs: 1_100 },
      pause: null,
      delayMs: 0,
    });
  });

  test.each([
    ["the lease", (record: ElectionRecord) => record.holdMs > 0, 1_010],
    ["a ban", (record: ElectionRecord) => record.bans.some((ban) => ban.nodeId === "x"), 300],
    ["a transfer", (record: ElectionRecord) => record.transfer !== null, 2_000],
    ["a pause", (record: ElectionRecord) => record.pause !== null, 900],
    ["the takeover delay", (record: ElectionRecord) => record.delayMs > 0, 700],
  ])("%s is over when the age has reached it, not before", (_, lasts, leftMs) => {
    expect(lasts(carryOver(marked, leftMs - 0.001))).toBe(true);
    expect(lasts(carryOver(marked, leftMs))).toBe(false);
    expect(lasts(carryOver(marked, leftMs + 1e9))).toBe(false);
  });

  test("a pause without a duration lasts until the group is resumed", () => {
    const paused = { ...marked, pause: { leftMs: null } };
    expect(carryOver(paused, 1e12).pause).toEqual({ leftMs: null });
  });

  test("carryOver leaves everything else in the record unchanged", () => {
    const { holdMs: _a, bans: _b, transfer: _c, pause: _d, delayMs: _e, ...rest } = carryOver(marked, 1e9);
    expect(marked).toMatchObject(rest);
    expect(carryOver(marked, 1e9)).toMatchObject({ term: 4, holder, holdMs: 0 });
  });
});

type Write = (seen: Observation) => ElectionRecord | undefined;

function nextOf(decision: object): ElectionRecord | undefined {
  return "next" in decision ? (decision.next as ElectionRecord) : undefined;
}

const ORDER = { by: "operator", reason: null, tsMs: 5 };
const claim = { nodeId: "a", term: 4, instanceId: "i1" };
const challenger = { ...holder, nodeId: "b", instanceId: null };

/** Every write that is not a grant, confirmation or renewal and does not change the holder. */
const OTHER_WRITES: readonly (readonly [string, Write])[] = [
  ["step-down", (seen) => nextOf(decideStepDown(seen, { banMs: 0, force: false }, ORDER, STAMP))],
  [
    "step-down with a ban",
    (seen) => nextOf(decideStepDown(seen, { banMs: 60_000, force: false }, ORDER, STAMP)),
  ],
  [
    "transfer",
    (seen) =>
      nextOf(
        decideTransfer(
          { ...seen, record: { ...seen.record, transfer: null, pause: null } },
          { toNodeId: "c", timeoutMs: 60_000, allowCold: false },
          successors(null),
          ORDER,
        ),
      ),
  ],
  ["the ready mark of a transfer", (seen) => nextOf(decideUpkeep(seen, waitersOf([challenger]), STAMP))],
  [
    "preemption",
    (seen) => {
      const policy = { ...DEFAULT_POLICY, strategy: "priority" as const, preempt: true };
      const record = { ...seen.record, transfer: null, pause: null, config: { ...config, policy } };
      const higher = { ...challenger, priority: 1 };
      return nextOf(decideUpkeep({ ...seen, record }, waitersOf([higher]), STAMP));
    },
  ],
  ["pause", (seen) => nextOf(decidePause(seen, { forMs: null, create: false }, ORDER))],
  ["pause for a time", (seen) => nextOf(decidePause(seen, { forMs: 60_000, create: false }, ORDER))],
  ["resume", (seen) => nextOf(decideResume(seen, ORDER))],
  ["create", (seen) => nextOf(decideCreate(seen, config, ORDER))],
  ["update", (seen) => nextOf(decideUpdate(seen, () => config, ORDER))],
];

const OWN_WRITES: readonly (readonly [string, Write])[] = [
  ["renewal", (seen) => nextOf(decideRenew(seen, claim, 1_000, RHO))],
  ["confirmation", (seen) => nextOf(decideCampaign(seen, holder, RHO, STAMP))],
];

const left = (ms: number, ageMs: number) => Math.max(0, Math.ceil((ms - ageMs) * 1000) / 1000);
const anyAge = (max: number) => fc.double({ min: 0, max, noNaN: true });
const runs = (least: number) => ({ numRuns: Math.max(least, fc.readConfigureGlobal().numRuns ?? 0) });

describe("every write carries over the time left as its writer saw it", () => {
  test.each(OTHER_WRITES)(
    "%s does not extend a lease: hold = max(0, hold − age), rounded up to microseconds",
    (_, write) => {
      fc.assert(
        fc.property(anyAge(1_010), fc.integer({ min: 1, max: 90_000 }), (part, hold) => {
          const ageMs = (part * hold) / 1_010.001;
          const next = write({ record: { ...marked, holdMs: hold, pause: { leftMs: 1e6 } }, ageMs });
          // The ready flag is set once only, and ending an expired lease is not part of this write.
          if (next?.holder !== null && next !== undefined) expect(next.holdMs).toBe(left(hold, ageMs));
        }),
        runs(100),
      );
      expect(write({ record: marked, ageMs: 200.50005 })?.holdMs).toBe(809.5);
    },
  );

  test.each([...OTHER_WRITES, ...OWN_WRITES])("%s does not restart a ban", (_, write) => {
    fc.assert(
      fc.property(anyAge(800), (ageMs) => {
        const next = write({ record: marked, ageMs });
        const bans = next?.bans.filter((ban) => ban.nodeId !== "a");
        expect(bans).toEqual(
          marked.bans
            .map((ban) => ({ ...ban, leftMs: left(ban.leftMs, ageMs) }))
            .filter((ban) => ban.leftMs > 0),
        );
      }),
      runs(100),
    );
  });

  test.each(OWN_WRITES)("a %s restarts neither the limit of a transfer nor a pause", (_, write) => {
    fc.assert(
      fc.property(anyAge(899), (ageMs) => {
        const next = write({ record: marked, ageMs });
        expect(next?.transfer).toEqual({ ...marked.transfer, leftMs: left(2_000, ageMs) });
        expect(next?.pause).toEqual({ leftMs: left(900, ageMs) });
      }),
      runs(100),
    );
  });

  test("a resignation carries over bans, a ready transfer and a pause, and ends the lease", () => {
    const record = { ...marked, transfer: marked.transfer && { ...marked.transfer, ready: true } };
    const decision = decideResign({ record, ageMs: 250.00005 }, claim, STAMP);
    expect(nextOf(decision)).toMatchObject({
      holdMs: 0,
      bans: [
        { nodeId: "x", leftMs: 50 },
        { nodeId: "y", leftMs: 4_750 },
      ],
      transfer: { leftMs: 1_750 },
      pause: { leftMs: 650 },
    });
  });

  test("an expiry carries over bans and a pause, and ends the lease and the transfer", () => {
    expect(
      nextOf(decideUpkeep({ record: { ...marked, holdMs: 100 }, ageMs: 100 }, waitersOf([]), STAMP)),
    ).toMatchObject({
      holder: null,
      holdMs: 0,
      bans: [
        { nodeId: "x", leftMs: 200 },
        { nodeId: "y", leftMs: 4_900 },
      ],
      transfer: null,
      pause: { leftMs: 800 },
    });
  });

  test("the takeover delay of a vacancy is carried over", () => {
    const vacant = { ...EMPTY_RECORD, term: 4, delayMs: 700 };
    expect(
      nextOf(decidePause({ record: vacant, ageMs: 99.50005 }, { forMs: null, create: false }, ORDER))
        ?.delayMs,
    ).toBe(600.5);
    expect(nextOf(decideUpdate({ record: vacant, ageMs: 700 }, () => config, ORDER))?.delayMs).toBe(0);
  });

  test("a restarted server counts again from what was left, so it only ever waits longer", () => {
    fc.assert(
      fc.property(anyAge(2_000), anyAge(2_000), (first, second) => {
        const once = carryOver(marked, first + second);
        const written = carryOver(carryOver(marked, first), second);
        expect(written.holdMs).toBeGreaterThanOrEqual(once.holdMs);
        expect(written.holdMs - once.holdMs).toBeLessThanOrEqual(1);
      }),
      runs(500),
    );
  });
});

describe("the margin for clock drift, once per side", () => {
  test.each([
    [1_000, 1_010, 990],
    [500, 505, 495],
    [501, 507, 495],
    [60_000, 60_600, 59_400],
    [1, 2, 0],
  ])(
    "with a ttl of %i the server holds the lease for %i and the leader leads for %i",
    (ttlMs, hold, lead) => {
      expect(holdMs(ttlMs, RHO)).toBe(hold);
      expect(leadMs(ttlMs, RHO)).toBe(lead);
    },
  );

  test("hold is exactly ⌈ttl·(1+ρ)⌉ and lead is exactly ⌊ttl·(1−ρ)⌋", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 86_400_000 }), (ttlMs) => {
        expect(holdMs(ttlMs, RHO)).toBe(Number((BigInt(ttlMs) * 101n + 99n) / 100n));
        expect(leadMs(ttlMs, RHO)).toBe(Number((BigInt(ttlMs) * 99n) / 100n));
      }),
      runs(500),
    );
  });

  test("a leader whose clock is slow by ρ stops before an observer whose clock is fast by ρ", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 86_400_000 }),
        fc.double({ min: 0.001, max: 0.2, noNaN: true }),
        (ttlMs, rho) => {
          expect(leadMs(ttlMs, rho) / (1 - rho)).toBeLessThanOrEqual(holdMs(ttlMs, rho) / (1 + rho));
        },
      ),
      runs(500),
    );
  });
});

test("writes less than a millisecond apart still use up a dead leader's lease", () => {
  let record: ElectionRecord = { ...marked, holdMs: 1_010 };
  for (let written = 0; written < 20; written++) record = carryOver(record, 0.5);
  expect(record.holdMs).toBe(1_000);
});
