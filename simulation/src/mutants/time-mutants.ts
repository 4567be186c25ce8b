/** Mutants of the rules on time: what a lease lasts, by which clock, on both sides. */
import type { Mutant } from "../harness/mutant.js";
import type { Patch } from "../harness/patch.js";

const engine = "core/elector/engine.ts";
const groupState = "core/elector/group-state.ts";
const ledTerm = "core/leader/led-term.ts";

/** Lets a group read the server's wall clock. */
const withWallClock: readonly Patch[] = [
  {
    file: engine,
    find: "this.clock = clock;",
    replace: "this.clock = clock; this.groups.clock = clock;",
  },
  {
    file: "core/elector/group-table.ts",
    find: "group = new GroupState(groupId);",
    replace: "group = new GroupState(groupId); group.clock = this.clock;",
  },
  {
    file: groupState,
    find: "this.seenAtMs = nowMs;",
    replace: "this.seenAtMs = nowMs; this.seenAtWallMs = this.clock.wallMs();",
  },
];

/** Turns the observation that the rules get; `seen` is what it should be, `now` the reading it was made at. */
function observed(code: string): Patch {
  return {
    file: groupState,
    find: "observation({ monotonicMs }: Reading): Observation {",
    replace: `observation(now) { const seen = this.observed(now); ${code} }
    observed({ monotonicMs }) {`,
  };
}

/** Makes a change in the record right before it is written; `change` and `group` are in scope. */
function beforeWrite(code: string): Patch {
  return {
    file: engine,
    find: "const { change } = step;",
    replace: `let { change } = step; ${code}`,
  };
}

const uncarried = `
    const seen = group.record;
    const next = { ...change.next };
    if (next.holder !== null && next.term === seen.term) next.holdMs = Math.max(next.holdMs, seen.holdMs);
    next.bans = next.bans.map((ban) => seen.bans.find((old) => old.nodeId === ban.nodeId && old.leftMs > ban.leftMs) ?? ban);
    for (const mark of ["transfer", "pause"])
      if (next[mark] && seen[mark] && next[mark].leftMs < seen[mark].leftMs) next[mark] = seen[mark];
    if (next.delayMs > 0 && seen.delayMs > next.delayMs) next.delayMs = seen.delayMs;
    change = { ...change, next };`;

const unmargined = `
    if (change.next.holder !== null && change.next.term === group.record.term && change.next.holdMs < group.record.holdMs) {
      const holdMs = Math.max(0, Math.floor(change.next.holdMs - change.next.holder.ttlMs * 0.01));
      change = { ...change, next: { ...change.next, holdMs } };
    }`;

export const TIME_MUTANTS: readonly Mutant[] = [
  {
    name: "own-write-from-answer",
    rule: "a server counts its own write from when it was decided",
    patches: [
      {
        file: engine,
        find: "group.install(change.next, value, revision, decided.monotonicMs)",
        replace: "group.install(change.next, value, revision, this.clock.monotonicMs())",
      },
    ],
    profile: "patches",
  },
  {
    name: "carry-over-in-ms",
    rule: "what is left is rounded to microseconds",
    patches: [
      {
        file: "core/rules/carry-over.ts",
        find: "Math.ceil((durationMs - ageMs) * 1000) / 1000",
        replace: "Math.ceil(durationMs - ageMs)",
      },
    ],
    profile: "patches",
  },
  {
    name: "wall-expiry",
    rule: "no wall clock takes part: a lease is over by the monotonic clock",
    patches: [
      ...withWallClock,
      observed(
        "return { ...seen, ageMs: this.revision === null ? 0 : this.clock.wallMs() - this.seenAtWallMs };",
      ),
    ],
  },
  {
    name: "trust-old-times",
    rule: "a restarted server counts from its own first sight",
    patches: [
      ...withWallClock,
      {
        file: groupState,
        find: "this.revision = revision; this.seenAtMs",
        replace: `        if (this.revision === null && record.events.length > 0) nowMs -= Math.max(0, this.clock.wallMs() - record.events.at(-1).tsMs);
        this.revision = revision;\n        this.seenAtMs`,
      },
    ],
  },
  {
    name: "deadline-from-response",
    rule: "a deadline counts from before the request was sent",
    patches: [{ file: ledTerm, find: "Math.min(sentMs + waitedMs, nowMs)", replace: "nowMs" }],
  },
  {
    name: "wait-from-response",
    rule: "a waiting campaign's deadline counts from its send plus waited_ms",
    patches: [
      {
        file: ledTerm,
        find: "Math.min(sentMs + waitedMs, nowMs)",
        replace: "(answer.waitedMs === undefined ? sentMs : nowMs)",
      },
    ],
  },
  {
    name: "monotonic-only",
    rule: "the leader looks at a clock that runs through suspend",
    patches: [
      {
        file: ledTerm,
        find: "this.#deadline(answer, answer.sent.bootMs, bootMs) - this.#clock.bootTickMs",
        replace: "Number.POSITIVE_INFINITY",
      },
    ],
  },
  {
    name: "led-again",
    rule: "a term is led once",
    patches: [
      {
        file: ledTerm,
        find: "if (this.#over || (begun && !this.isInside()))",
        replace: "this.#over = false; if (begun === null)",
      },
    ],
  },
  {
    name: "no-margin",
    rule: "the margin is paid once on each side",
    patches: [
      { file: "core/lease-time.ts", find: "ttlMs * (1 + driftRatio)", replace: "ttlMs" },
      { file: "core/lease-time.ts", find: "ttlMs * (1 - driftRatio)", replace: "ttlMs" },
    ],
  },
  {
    name: "shortened-renewals",
    rule: "nothing shortens a lease",
    patches: [
      {
        file: "core/rules/renew.ts",
        find: "Math.max(holdMs(ttlMs, driftRatio), now.holdMs)",
        replace: "holdMs(ttlMs, driftRatio)",
      },
    ],
  },
  {
    name: "no-carry-over",
    rule: "every write carries over what is left",
    patches: [beforeWrite(uncarried)],
    profile: "busy-admin",
  },
  {
    name: "carry-over-unmargined",
    rule: "what is carried over includes the margin",
    patches: [beforeWrite(unmargined)],
    profile: "busy-admin",
  },
  {
    name: "delay-by-wall",
    rule: "the takeover delay is judged by observation",
    patches: [
      ...withWallClock,
      observed(`const { record, ageMs } = seen;
        const wallAgeMs = this.clock.wallMs() - this.seenAtWallMs;
        const delayMs = record.delayMs === 0 ? 0 : Math.max(1, Math.ceil(record.delayMs + ageMs - wallAgeMs));
        return { record: { ...record, delayMs }, ageMs };`),
    ],
    profile: "wall-jumps",
  },
  {
    name: "no-takeover-delay",
    rule: "with a takeover delay the vacancy comes first",
    patches: [
      {
        file: "core/rules/terms.ts",
        find: 'delayMs: reason === "expired" ? policyOf(now).takeoverDelayMs : 0,',
        replace: "delayMs: 0,",
      },
    ],
  },
];
