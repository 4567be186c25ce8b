import type { LeadershipEvent, WatchEvent } from "@tenure/core";
import type { RecordWrite } from "../truth.js";
import type { Check, CheckContext, Watched } from "./check.js";

const KEPT = 64;
/** A watcher that has lost its connection is back at a server that runs within this time. */
const RECONNECTED_MS = 1000;

/** S5: event numbers are used once and without gaps, and a watcher sees each of them once, in order, as it was written. A RESYNC is due past 64 events, or past a deletion that dropped some. */
export class WholeWatch implements Check {
  readonly #context: CheckContext;
  readonly #last = new Map<string, { readonly groupId: string; readonly cursor: number }>();

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onWrite({ groupId, events, revision, record, previous }: RecordWrite): void {
    const known = this.#context.truth(groupId).events;
    let number = previous?.record.eventNumber ?? 0;
    if (record.eventNumber < number) {
      this.#context.fail(
        "S5",
        `the event number falls from ${number} to ${record.eventNumber} at revision ${revision}`,
      );
    }
    for (const event of events) {
      if (event.number !== ++number || known.has(event.number)) {
        this.#context.fail(
          "S5",
          `event ${event.number} is written at revision ${revision} where ${number} is next`,
        );
      }
      known.set(event.number, event);
    }
  }

  onWatched({ watcher, groupId, cursor, event }: Watched): void {
    this.#last.set(watcher, { groupId, cursor: event.cursor });
    const truth = this.#context.truth(groupId);
    const lastNumber = truth.record?.eventNumber ?? 0;
    if (event.type === "RESYNC") {
      const isCut = cursor !== undefined && cursor + 1 < truth.deletedAt(lastNumber);
      if (cursor !== undefined && cursor <= lastNumber && lastNumber - cursor <= KEPT && !isCut) {
        this.#context.fail(
          "S5",
          `${watcher} is sent back at ${cursor}, where ${lastNumber} is the last event`,
        );
      }
      return;
    }
    if (cursor === undefined) return; // The current state; reads are checked elsewhere.
    if (event.cursor !== cursor + 1) {
      this.#context.fail("S5", `${watcher} gets event ${event.cursor} after ${cursor}`);
      return;
    }
    const written = truth.events.get(event.cursor);
    if (written === undefined || !isSame(written, event)) {
      this.#context.fail("S5", `${watcher} gets event ${event.cursor} otherwise than it was written`);
    }
  }

  onEnd(): void {
    const { behindMs, noticedMs } = this.#context;
    const dueMs = this.#context.nowMs() - RECONNECTED_MS - behindMs - noticedMs;
    for (const [watcher, { groupId, cursor }] of this.#last) {
      const { writes } = this.#context.truth(groupId);
      const due = writes.findLast(({ atMs }) => atMs <= dueMs)?.record.eventNumber ?? 0;
      if (cursor < due) this.#context.fail("S5", `${watcher} ends at event ${cursor}, and ${due} was due`);
    }
  }
}

function isSame(written: LeadershipEvent, event: WatchEvent): boolean {
  return (
    written.type === event.type &&
    written.term === event.term &&
    written.leaderNodeId === event.leaderNodeId &&
    written.previousLeaderNodeId === event.previousLeaderNodeId &&
    written.reason === event.reason &&
    written.tsMs === event.tsMs
  );
}
