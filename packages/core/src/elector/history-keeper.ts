import { encodeHistory } from "../codec.js";
import { recordedHistory, recordedLength } from "../history.js";
import type { Batcher } from "./batcher.js";
import { callLimitMs } from "./call-limit.js";
import type { GroupState } from "./group-state.js";
import { historyKey } from "./keys.js";
import type { ReadBarrier } from "./read-barrier.js";

const MAX_ATTEMPTS = 8;

/**
 * Brings a group's history up to its record. Any server may do it; the writes merge, so no server loses what another
 * wrote.
 */
export class HistoryKeeper {
  readonly #batcher: Batcher;
  readonly #readBarrier: ReadBarrier;

  constructor(batcher: Batcher, readBarrier: ReadBarrier) {
    this.#batcher = batcher;
    this.#readBarrier = readBarrier;
  }

  isBehind(group: GroupState): boolean {
    return (
      group.historyNumber < group.record.eventNumber ||
      group.historyActNumber < group.actNumber ||
      isToCut(group)
    );
  }

  /** One attempt, shared by all concurrent callers. They check for themselves whether it was enough. */
  advance(group: GroupState): Promise<void> {
    group.historyWrite ??= this.#write(group).finally(() => {
      group.historyWrite = null;
    });
    return group.historyWrite;
  }

  /**
   * Repeats until the history is up to date or the store fails; then the next server that finds it behind tries again
   * later.
   */
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
    // Throws if the history or the record was written by another version and cannot be read: overwriting it would lose
    // what that version has kept. When it is repaired, this server looks at it again.
    const record = group.current();
    const value = encodeHistory(mayCut(group) ? recordedHistory(record) : group.wholeHistory());
    // A write of the record may wait for this one.
    const limitMs = callLimitMs(record.holder?.ttlMs);
    const outcome = await this.#batcher.submit({ key, expected: group.historyRevision, value }, limitMs);
    if (outcome.kind === "swapped") group.observeHistory({ key, value, revision: outcome.revision });
    else if (outcome.kind === "conflict" && outcome.current !== null) group.observeHistory(outcome.current);
    else await this.#readBarrier.wait(limitMs);
  }
}

/**
 * The history of a deleted group is cut to what its tombstone has. A history with events or acts after the deletion is not
 * cut: this server has yet to see that the group was created again.
 */
function mayCut({ record, actNumber, historyNumber, historyActNumber }: GroupState): boolean {
  return record.deleted && historyNumber <= record.eventNumber && historyActNumber <= actNumber;
}

function isToCut(group: GroupState): boolean {
  return mayCut(group) && group.historyLength > recordedLength(group.record);
}
