import { encodeHistory } from "../codec.js";
import { mergeEvents } from "../history.js";
import type { Batcher } from "./batcher.js";
import { callLimitMs } from "./call-limit.js";
import type { GroupState } from "./group-state.js";
import { historyKey } from "./keys.js";
import type { ReadBarrier } from "./read-barrier.js";

const MAX_ATTEMPTS = 8;

/** Brings a group's history up to its record. Any server may; they merge, so none loses what another wrote. */
export class HistoryKeeper {
  readonly #batcher: Batcher;
  readonly #readBarrier: ReadBarrier;

  constructor(batcher: Batcher, readBarrier: ReadBarrier) {
    this.#batcher = batcher;
    this.#readBarrier = readBarrier;
  }

  isBehind(group: GroupState): boolean {
    return group.historyNumber < group.record.eventNumber || isToCut(group);
  }

  /** One attempt, shared by all who ask meanwhile; whether it was enough they see for themselves. */
  advance(group: GroupState): Promise<void> {
    group.historyWrite ??= this.#write(group).finally(() => {
      group.historyWrite = null;
    });
    return group.historyWrite;
  }

  /** Attempts until it is done, or the store is not up to it: then whoever sees it behind tries again later. */
  async bringUpToDate(group: GroupState): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS && this.isBehind(group); attempt++) {
      try {
        await this.advance(group);
      } catch {
        return;
      }
    }
  }

  async #write(group: GroupState): Promise<void> {
    const key = historyKey(group.groupId);
    // Throws where the history, or the record, was written by another version and cannot be read: to write over it would lose
    // what that version has kept. Whoever repairs it makes this server look again.
    const { events, holder } = group.current();
    const value = encodeHistory(mayCut(group) ? events : mergeEvents(group.history(), events));
    // A write of the record may wait for this one.
    const limitMs = callLimitMs(holder?.ttlMs);
    const outcome = await this.#batcher.submit({ key, expected: group.historyRevision, value }, limitMs);
    if (outcome.kind === "swapped") group.observeHistory({ key, value, revision: outcome.revision });
    else if (outcome.kind === "conflict" && outcome.current !== null) group.observeHistory(outcome.current);
    else await this.#readBarrier.wait(limitMs);
  }
}

/**
 * The history of a deleted group is cut to the events of its tombstone. A history that goes on after the deletion is
 * not: then this server has yet to see that the group was made again.
 */
function mayCut({ record, historyNumber }: GroupState): boolean {
  return record.deleted && historyNumber <= record.eventNumber;
}

function isToCut(group: GroupState): boolean {
  return mayCut(group) && group.historyLength > group.record.events.length;
}
