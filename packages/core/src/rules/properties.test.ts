/**
 * Random schedules of everything that may be asked of a group, at three servers that see each write late by their own
 * lag, run against the rules: compared with a naive twin, and watched for what must always hold.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LeadershipEvent } from "../event.js";
import { DEFAULT_DRIFT_RATIO, holdMs } from "../lease-time.js";
import { DEFAULT_POLICY } from "../policy.js";
import {
  EMPTY_RECORD,
  type ElectionRecord,
  type GroupConfig,
  type Holder,
  type Observation,
} from "../record.js";
import { decideCampaign } from "./campaign.js";
import { carryOver } from "./carry-over.js";
import { decideCreate, decideDelete, decideUpdate } from "./configure.js";
import { type Command, type NaiveOutcome, OPERATOR } from "./naive-state.test-kit.js";
import { decisive, NaiveTwin, withoutSilence } from "./naive-twin.test-kit.js";
import { decidePause, decideResume, decideStepDown, decideTransfer } from "./operate.js";
import { decideRenew } from "./renew.js";
import { decideResign } from "./resign.js";
import type { Change } from "./terms.js";
import { bestWaiter, decideUpkeep } from "./upkeep.js";
import { type Arrival, successors, waitersOf } from "./waiters.test-kit.js";

/** The minimum number of runs; `TENURE_PROPERTY_RUNS` may raise it. */
const runs = (least: number) => ({ numRuns: Math.max(least, fc.readConfigureGlobal().numRuns ?? 0) });

const RHO = DEFAULT_DRIFT_RATIO;

interface Outcome {
  readonly kind: string;
  readonly change: Change | null;
  readonly leaderNodeId?: string | null;
  readonly heldBack?: string | null;
  readonly leftMs?: number | null;
}

/** How a server handles a command, as the elector does. */
function decide(seen: Observation, command: Command, wallMs: number): Outcome {
  const stamp = { wallMs };
  const byOperator = { wallMs, by: OPERATOR };
  const order = { by: OPERATOR, reason: null, tsMs: wallMs };
  switch (command.verb) {
    case "campaign":
      return outcomeOf(decideCampaign(seen, command.candidate, RHO, stamp));
    case "renew":
      return outcomeOf(decideRenew(seen, command.claim, command.ttlMs, RHO));
    case "resign":
      return filled(outcomeOf(decideResign(seen, command.claim, stamp)), command.waiters, wallMs);
    case "upkeep": {
      const decision = decideUpkeep(seen, waitersOf(command.waiters), stamp);
      if (decision.kind !== "campaign") return outcomeOf(decision);
      return outcomeOf(decideCampaign(seen, decision.waiter.candidate, RHO, stamp));
    }
    case "step-down": {
      const { banMs, force } = command;
      const decision = decideStepDown(seen, { banMs, force }, order, byOperator);
      return filled(outcomeOf(decision), command.waiters, wallMs);
    }
    case "transfer":
      return outcomeOf(decideTransfer(seen, command, successors(null), order));
    case "pause":
      return outcomeOf(decidePause(seen, { forMs: command.forMs, create: true }, order));
    case "resume":
      return outcomeOf(decideResume(seen, order));
    case "create":
      return outcomeOf(decideCreate(seen, command.config, order));
    case "update":
      return outcomeOf(decideUpdate(seen, () => command.config, order));
    case "delete":
      return outcomeOf(decideDelete(seen, command.force, order, byOperator));
  }
}

function outcomeOf(
  decision: { kind: string } & Partial<Change> & {
      holder?: Holder | null;
      heldBack?: string | null;
      leftMs?: number | null;
    },
): Outcome {
  const { kind, next, events, holder, heldBack, leftMs } = decision;
  return {
    kind,
    change: next === undefined || events === undefined ? null : { next, events },
    ...(holder === undefined ? {} : { leaderNodeId: holder?.nodeId ?? null }),
    ...(heldBack === undefined ? {} : { heldBack }),
    ...(leftMs === undefined ? {} : { leftMs }),
  };
}

/** A vacancy goes to the best waiter in the same write that creates it. */
function filled(outcome: Outcome, waiters: readonly Arrival[], wallMs: number): Outcome {
  const { change } = outcome;
  if (change === null || change.next.holder !== null) return outcome;
  const best = bestWaiter(change.next, waitersOf(waiters));
  if (best === null) return outcome;
  const won = decideCampaign({ record: change.next, ageMs: 0 }, best.candidate, RHO, { wallMs });
  if (won.kind !== "elect") return outcome;
  return { ...outcome, change: { next: won.next, events: [...change.events, ...won.events] } };
}

const NODES = ["a", "b", "c"];

// Quarters of a millisecond are exact in binary, so that model and rules never differ by rounding errors.
const quarters = (max: number) => fc.nat(max * 4).map((n) => n / 4);
const waitMs = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 4, arbitrary: quarters(60) },
  { weight: 4, arbitrary: quarters(900) },
  { weight: 1, arbitrary: quarters(12_000) },
);
const lagMs = fc.oneof(fc.constant(0), quarters(40), quarters(700));
const ttlMs = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(500, 501, 777, 900, 1_000, 3_333) },
  { weight: 1, arbitrary: fc.constantFrom(100, 499, 60_001) },
);
const candidate: fc.Arbitrary<Holder> = fc.record({
  nodeId: fc.constantFrom(...NODES),
  instanceId: fc.constantFrom(null, "i1", "i2"),
  ttlMs,
  priority: fc.constantFrom(0, 0, 1, 5),
  metadata: fc.constantFrom(null, { zone: "x" }),
});
const waiters = fc.array(fc.record({ candidate, ready: fc.boolean() }), { maxLength: 3 });
const config: fc.Arbitrary<GroupConfig> = fc.record({
  policy: fc
    .record({
      takeoverDelayMs: fc.constantFrom(0, 0, 250, 1_500),
      strategy: fc.constantFrom("first" as const, "priority" as const),
      preempt: fc.boolean(),
      maxTtlMs: fc.constantFrom(60_000, 60_000, 900),
    })
    .map((some) => ({ ...DEFAULT_POLICY, ...some, preempt: some.preempt && some.strategy === "priority" })),
  allowedNodes: fc.constantFrom(null, null, null, ["a", "b"], ["c"], []),
});

/** A claim by a present or former holder of the term, or any node; with its own instance, another, or none. */
const claim = fc.record({
  who: fc.oneof(
    { weight: 4, arbitrary: fc.constant("holder" as const) },
    { weight: 1, arbitrary: fc.constant("ended" as const) },
    { weight: 1, arbitrary: candidate },
  ),
  termsBack: fc.constantFrom(0, 0, 0, 0, 0, 1, 2, -1),
  instance: fc.constantFrom("own" as const, "own" as const, null, "i1"),
});

const command = fc.oneof(
  { weight: 6, arbitrary: fc.record({ verb: fc.constant("campaign" as const), candidate }) },
  { weight: 4, arbitrary: fc.record({ verb: fc.constant("renew" as const), claim, ttlMs }) },
  { weight: 3, arbitrary: fc.record({ verb: fc.constant("resign" as const), claim, waiters }) },
  { weight: 5, arbitrary: fc.record({ verb: fc.constant("upkeep" as const), waiters }) },
  {
    weight: 2,
    arbitrary: fc.record({
      verb: fc.constant("step-down" as const),
      banMs: fc.constantFrom(0, 300, 2_000),
      force: fc.boolean(),
      waiters,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      verb: fc.constant("transfer" as const),
      toNodeId: fc.constantFrom(...NODES),
      timeoutMs: fc.constantFrom(200, 1_000, 10_000),
      allowCold: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      verb: fc.constant("pause" as const),
      forMs: fc.constantFrom(null, 1, 400, 3_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant("resume" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ verb: fc.constantFrom("create" as const, "update" as const), config }),
  },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant("delete" as const), force: fc.boolean() }) },
);

type Asked = typeof command extends fc.Arbitrary<infer T> ? T : never;

function commandOn({ holder, ended, term }: ElectionRecord, asked: Asked): Command {
  if (asked.verb !== "renew" && asked.verb !== "resign") return asked;
  const { who, termsBack, instance } = asked.claim;
  const claimant = who === "holder" ? holder : who === "ended" ? ended : who;
  const { nodeId, instanceId } = claimant ?? { nodeId: "a", instanceId: null };
  const baseTerm = who === "ended" ? (ended?.term ?? 1) : term;
  return {
    ...asked,
    claim: { nodeId, term: baseTerm - termsBack, instanceId: instance === "own" ? instanceId : instance },
  };
}

interface Taken {
  readonly before: ElectionRecord;
  readonly ageMs: number;
  readonly command: Command;
  readonly outcome: Outcome;
  readonly nowMs: number;
  readonly lagMs: number;
  readonly wallMs: number;
}

const step = fc.record({
  waitMs,
  server: fc.nat(2),
  lagsMs: fc.tuple(lagMs, lagMs, lagMs),
  // From the writer's wall clock, which may be any time because it decides nothing.
  wallMs: fc.nat(),
  asked: command,
});
const schedule = fc.array(step, { minLength: 1, maxLength: 40, size: "max" });

/** Runs a schedule; each step is checked with the record that it left. */
function run(
  steps: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[],
  look: (taken: Taken, after: ElectionRecord) => void,
): void {
  let record = EMPTY_RECORD;
  let nowMs = 0;
  let writtenAtMs = 0;
  let seenAtMs = [0, 0, 0];
  for (const { waitMs, server, lagsMs, wallMs, asked } of steps) {
    nowMs += waitMs;
    // A server that has not seen the write yet is shown it by the conflict.
    const sightMs = Math.min(seenAtMs[server] ?? 0, nowMs);
    seenAtMs[server] = sightMs;
    const before = record;
    const command = commandOn(before, asked);
    const ageMs = nowMs - sightMs;
    const outcome = decide({ record: before, ageMs }, command, wallMs);
    const lagMs = sightMs - writtenAtMs;
    if (outcome.change !== null) {
      record = outcome.change.next;
      writtenAtMs = nowMs;
      const [a, b, c] = lagsMs;
      seenAtMs = [nowMs + a, nowMs + b, nowMs + c];
    }
    look({ before, ageMs, command, outcome, nowMs, lagMs, wallMs }, record);
  }
}

function expectSame(real: Outcome, naive: NaiveOutcome): void {
  expect(real.kind).toBe(naive.kind);
  if (naive.leaderNodeId !== undefined) expect(real.leaderNodeId).toBe(naive.leaderNodeId);
  if (naive.heldBack === undefined) return;
  if (naive.heldBack.length === 0) expect(real.heldBack).toBeNull();
  else expect(naive.heldBack).toContainEqual({ by: real.heldBack, leftMs: real.leftMs });
}

describe("the rules and a naive model", () => {
  test("the rules and a naive model agree on every outcome, record and event of every schedule", () => {
    fc.assert(
      fc.property(schedule, (steps) => {
        const twin = new NaiveTwin();
        let events = 0;
        run(steps, ({ command, outcome, nowMs, lagMs, wallMs }, after) => {
          expectSame(outcome, twin.apply(command, nowMs, lagMs, wallMs));
          if (outcome.change === null) return;
          expect(decisive(after)).toEqual(twin.record(nowMs));
          expect(outcome.change.events.map(withoutSilence)).toEqual(twin.events.slice(events));
          events = twin.events.length;
        });
      }),
      runs(4_000),
    );
  });
});

describe("invariants of every schedule", () => {
  test("a term has at most one holder and terms only rise, one at a time", () => {
    fc.assert(
      fc.property(schedule, (steps) => {
        const holders = new Map<number, string>();
        run(steps, ({ before }, { term, holder }) => {
          expect([0, 1]).toContain(term - before.term);
          if (holder === null) return;
          const name = `${holder.nodeId} ${holder.instanceId}`;
          expect(holders.get(term) ?? name).toBe(name);
          holders.set(term, name);
        });
      }),
      runs(1_500),
    );
  });

  test("a term begins only when the one before was seen to be over, was resigned or was taken away", () => {
    fc.assert(
      fc.property(schedule, (steps) => {
        run(steps, ({ before, ageMs, command, outcome }, { term }) => {
          if (term === before.term || before.holder === null) return;
          const asked = command.verb === "resign" || (command.verb === "step-down" && command.force);
          if (!asked) expect(ageMs).toBeGreaterThanOrEqual(before.holdMs);
          expect(outcome.change?.events.map(({ type }) => type)).toEqual(["LEADER_LOST", "LEADER_CHANGED"]);
        });
      }),
      runs(1_000),
    );
  });

  test("nothing shortens a lease, and only its holder's own campaign or renewal extends it", () => {
    fc.assert(
      fc.property(schedule, (steps) => {
        run(steps, ({ before, ageMs, command, outcome }, after) => {
          if (outcome.change === null || before.holder === null || after.holder === null) return;
          if (after.term !== before.term) return;
          const leftMs = Math.max(0, Math.ceil((before.holdMs - ageMs) * 1000) / 1000);
          const own = outcome.kind === "confirm" || outcome.kind === "renew";
          expect(after.holdMs).toBe(own ? Math.max(leftMs, holdMs(after.holder.ttlMs, RHO)) : leftMs);
          if (own) expect(before.deposed).toBeNull();
          if (command.verb === "renew") {
            expect(command.claim).toMatchObject({ nodeId: before.holder.nodeId, term: before.term });
          }
        });
      }),
      runs(1_000),
    );
  });

  test("a confirmed campaign changes neither term nor events, and confirms no other candidate", () => {
    fc.assert(
      fc.property(schedule, (steps) => {
        run(steps, ({ before, outcome }, after) => {
          if (outcome.kind !== "confirm") return;
          expect(outcome.change?.events).toEqual([]);
          expect(after.term).toBe(before.term);
          expect(after.eventNumber).toBe(before.eventNumber);
          expect(after.holder).toMatchObject({
            nodeId: before.holder?.nodeId,
            instanceId: before.holder?.instanceId,
          });
        });
      }),
      runs(1_000),
    );
  });

  test("event numbers are consecutive, and the record's events are the last four, or those since a deletion", () => {
    fc.assert(
      fc.property(schedule, (steps) => {
        const all: LeadershipEvent[] = [];
        let dropped = 0;
        run(steps, ({ outcome }, after) => {
          if (outcome.change !== null) all.push(...outcome.change.events);
          if (after.deleted) dropped = Math.max(0, all.length - 1);
          expect(after.eventNumber).toBe(all.length);
          expect(after.events).toEqual(all.slice(Math.max(dropped, all.length - 4)));
        });
        expect(all.map(({ number }) => number)).toEqual(all.map((_, index) => index + 1));
      }),
      runs(1_000),
    );
  });

  test("no ban, pause or transfer is written that is over, and no lease is left without a holder", () => {
    fc.assert(
      fc.property(schedule, (steps) => {
        run(steps, (_, { holder, holdMs, deposed, bans, transfer, pause, delayMs }) => {
          for (const ban of bans) expect(ban.leftMs).toBeGreaterThan(0);
          if (transfer !== null) expect(transfer.leftMs).toBeGreaterThan(0);
          if (pause !== null && pause.leftMs !== null) expect(pause.leftMs).toBeGreaterThan(0);
          if (holder === null) expect({ holdMs, deposed }).toEqual({ holdMs: 0, deposed: null });
          else expect(delayMs).toBe(0);
        });
      }),
      runs(500),
    );
  });

  test("upkeep looks again in time for the end of a lease and for a vacancy with a waiter", () => {
    fc.assert(
      fc.property(schedule, waiters, fc.double({ min: 0, max: 1, noNaN: true }), (steps, some, part) => {
        run(steps, ({ ageMs }, record) => {
          const look = (atMs: number) =>
            decideUpkeep({ record, ageMs: atMs }, waitersOf(some), { wallMs: 0 });
          const now = look(ageMs);
          if (now.kind !== "rest") return;
          const later = look(ageMs + part * Math.max(0, (now.lookAgainMs ?? 1e12) - 1));
          // To the millisecond. A transfer for a challenger may be set meanwhile; no candidate wins by it.
          if (later.kind === "write") expect(later.events).toEqual([]);
          else expect(later.kind).toBe("rest");
          if (record.holder !== null)
            expect(now.lookAgainMs).toBeLessThanOrEqual(carryOver(record, ageMs).holdMs);
        });
      }),
      runs(1_000),
    );
  });
});
