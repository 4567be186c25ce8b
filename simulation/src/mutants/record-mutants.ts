/** Mutants of the rules on what is kept: records, marks, events, history, feeds. */
import type { Mutant } from "../harness/mutant.js";

const engine = "core/elector/engine.ts";

export const RECORD_MUTANTS: readonly Mutant[] = [
  {
    name: "term-deleted",
    rule: "the term survives deletion",
    patches: [
      {
        file: "core/rules/configure.ts",
        find: "...EMPTY_RECORD, term, eventNumber,",
        replace: "...EMPTY_RECORD, eventNumber,",
      },
    ],
  },
  {
    name: "event-number-deleted",
    rule: "the event number survives deletion",
    patches: [
      {
        file: "core/rules/configure.ts",
        find: "...EMPTY_RECORD, term, eventNumber, events: events.slice(-1),",
        replace: "...EMPTY_RECORD, term,",
      },
    ],
  },
  {
    name: "progress-past-hole",
    rule: "a feed's progress does not pass a value left out",
    patches: [
      {
        file: "core/testing/faulty-feed.ts",
        find: "revision: this.#progress(item) }",
        replace: "revision: item.revision }",
      },
    ],
    profile: "churn",
  },
  {
    name: "history-unguarded",
    rule: "no write pushes out an event that the history lacks; a server that sees it behind repairs it",
    patches: [
      { file: engine, find: "losesEvents(next, group.historyNumber) ||", replace: "" },
      {
        file: "core/elector/housekeeper.ts",
        find: "if (this.#engine.history.isBehind(group))",
        replace: "if (false)",
      },
    ],
    profile: "churn",
  },
  {
    name: "history-unguarded-repaired",
    rule: "repair alone is not enough",
    patches: [{ file: engine, find: "losesEvents(next, group.historyNumber) ||", replace: "" }],
    profile: "handovers",
  },
  {
    name: "history-overwritten",
    rule: "the history is merged by event number",
    patches: [
      {
        file: "core/elector/history-keeper.ts",
        find: "mayCut(group) ? recordedHistory(record) : group.wholeHistory()",
        replace: "recordedHistory(record)",
      },
    ],
  },
  {
    name: "act-unguarded",
    rule: "no write pushes out an act that the history lacks",
    patches: [
      {
        file: engine,
        find: "|| losesAct(next, group.historyActNumber)",
        replace: "",
      },
    ],
    profile: "operator",
  },
  {
    name: "acts-overwritten",
    rule: "the acts of the history are merged by number",
    patches: [
      {
        file: "core/elector/group-state.ts",
        find: "acts: mergeActs(acts, recorded.acts)",
        replace: "acts: recorded.acts",
      },
    ],
    profile: "operator",
  },
  {
    name: "act-twice",
    rule: "an act that was decided again after a lost answer is not listed twice",
    patches: [
      {
        file: "core/elector/operator.ts",
        find: "if (uncertain && sent !== null &&",
        replace: "if (false && sent !== null &&",
      },
    ],
    profile: "operator",
  },
  {
    name: "resync-at-once",
    rule: "a gap is a RESYNC only if it is still one after a sync",
    patches: [
      {
        file: "core/elector/group-watch.ts",
        find: "await wakeup.unlessOver(engine.readBarrier.wait()); events = missingEvents(group, cursor);",
        replace: "await wakeup.unlessOver(engine.readBarrier.wait());",
      },
      {
        file: "core/elector/many-watch.ts",
        find: "if (!isFirst && !isGapReal)",
        replace: "if (false)",
      },
    ],
  },
  {
    name: "ban-in-memory",
    rule: "every mark that can stop a win is in the record",
    patches: [
      {
        file: "core/codec.ts",
        find: "bans: record.bans.length === 0 ? undefined :",
        replace: "bans: true ? undefined :",
      },
    ],
  },
  {
    name: "pause-ignored",
    rule: "no node wins a paused group",
    patches: [
      {
        file: "core/rules/eligibility.ts",
        find: "obstacleFor(now: ElectionRecord, nodeId: string): Obstacle | null {",
        replace: "obstacleFor(record, nodeId) { const now = { ...record, pause: null };",
      },
      { file: "core/rules/upkeep.ts", find: "vacant.pause !== null || ", replace: "" },
    ],
  },
  {
    name: "transfer-ignored",
    rule: "only the named successor wins while a transfer lasts",
    patches: [
      {
        file: "core/rules/eligibility.ts",
        find: "if (now.transfer !== null && now.transfer.toNodeId !== nodeId)",
        replace: "if (false)",
      },
    ],
    profile: "preempt",
  },
];
