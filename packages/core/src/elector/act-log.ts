/**
 * The latest acts of operators in all groups, for `audit`. The store has them in the records and histories of the groups;
 * this is the index by time that every server keeps in memory.
 */
import type { GroupAct, OperatorAct } from "../operator-act.js";

/** Of all groups together; each group has its last 64 in the store. */
const MAX_ACTS = 1000;

export class ActLog {
  /** Oldest first. */
  #acts: GroupAct[] = [];

  /** Acts may come in any order and more than once. */
  add(groupId: string, act: OperatorAct): void {
    const entry = { groupId, ...act };
    const index = this.#indexOf(entry);
    const before = this.#acts[index - 1];
    const isKnown = before !== undefined && !isNewer(entry, before);
    if (isKnown || (index === 0 && this.#acts.length >= MAX_ACTS)) return;
    this.#acts.splice(index, 0, entry);
    if (this.#acts.length > MAX_ACTS) this.#acts.shift();
  }

  /** Newest first. */
  *newest(): Generator<GroupAct> {
    for (let index = this.#acts.length - 1; index >= 0; index--) yield this.#acts[index] as GroupAct;
  }

  /** Where the act belongs: after all that are not newer. */
  #indexOf(act: GroupAct): number {
    let low = 0;
    let high = this.#acts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isNewer(this.#acts[middle] as GroupAct, act)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

interface Place {
  readonly tsMs: number;
  readonly number: number;
  readonly groupId: string;
}

export function isNewer(one: Place, other: Place): boolean {
  if (one.tsMs !== other.tsMs) return one.tsMs > other.tsMs;
  if (one.groupId !== other.groupId) return one.groupId > other.groupId;
  return one.number > other.number;
}

/** The place of an act, at which the next page continues. */
export function actCursor({ tsMs, number, groupId }: Place): string {
  return `${tsMs}-${number}-${groupId}`;
}

const CURSOR = /^(\d{1,16})-(\d{1,16})-(.+)$/;

export function isActCursor(cursor: string): boolean {
  return CURSOR.test(cursor);
}

export function parseActCursor(cursor: string): Place {
  const [, tsMs, number, groupId = ""] = CURSOR.exec(cursor) ?? [];
  return { tsMs: Number(tsMs), number: Number(number), groupId };
}
