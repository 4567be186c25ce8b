/**
 * What this process knows of one group and does for it: the record and the history as seen, the waiting campaigns and
 * the watches. There may be hundreds of thousands of these objects, so parts that few groups have are created only when
 * needed.
 */
import type { Reading } from "../clock.js";
import { decodeHistory, decodeRecord } from "../codec.js";
import {
  EMPTY_HISTORY,
  type GroupHistory,
  mergeEvents,
  recordedHistory,
  recordedLength,
} from "../history.js";
import { mergeActs } from "../operator-act.js";
import { EMPTY_RECORD, type ElectionRecord, type Observation } from "../record.js";
import { BackendUnavailableError } from "../errors.js";
import type { Entry, Revision } from "../store/store.js";
import type { QueuedItem } from "./deadline-queue.js";
import type { Waiters } from "../rules/upkeep.js";
import { CampaignQueue } from "./campaign-queue.js";
import { Fifo } from "./fifo.js";
import type { Waiter } from "./waiter.js";

const NO_WAITERS: Waiters<Waiter> = Object.freeze({
  size: 0,
  departed: null,
  of: () => [],
  first: () => null,
});

export class GroupState implements QueuedItem {
  readonly groupId: string;

  record: ElectionRecord = EMPTY_RECORD;
  /** As it is stored. A renewal often writes the same value again, whose echo in the feed need not be decoded. */
  value: string | null = null;
  /** `null`: never seen, so treated as absent until the store shows it. */
  revision: Revision | null = null;
  /** When this revision was first seen, on the monotonic clock. */
  seenAtMs = 0;
  /** When the last event was first seen. */
  eventSeenAtMs = 0;
  /** Of the event log. */
  loggedNumber = 0;
  loggedRevision: Revision = 0;
  /** Why the record as stored cannot be read, by a newer format or damage. */
  unreadable: unknown = null;

  historyRevision: Revision | null = null;
  historyValue: string | null = null;
  /** The number of the last event in it. */
  historyNumber = 0;
  /** The number of the last act in it. */
  historyActNumber = 0;
  /** How many events and acts are in it. */
  historyLength = 0;
  historyUnreadable: unknown = null;
  /** Present while it is being written. */
  historyWrite: Promise<void> | null = null;

  /** Present while campaigns wait here. */
  queue: CampaignQueue | null = null;
  watchers: Set<() => void> | null = null;
  inUpkeep = false;
  /** Requests in progress that hold on to this object. */
  users = 0;

  dueMs: number = Number.POSITIVE_INFINITY;
  heapIndex = -1;
  heapMs = 0;

  #taken = false;
  #turns: Fifo<() => void> | null = null;

  constructor(groupId: string) {
    this.groupId = groupId;
  }

  /** The record. Throws if the stored value cannot be read, because then nothing may be decided or answered about it. */
  current(): ElectionRecord {
    const cause = this.unreadable ?? this.historyUnreadable;
    if (cause === null) return this.record;
    throw new BackendUnavailableError(`the record of ${this.groupId} cannot be read`, { cause });
  }

  observation({ monotonicMs }: Reading): Observation {
    return { record: this.current(), ageMs: this.revision === null ? 0 : monotonicMs - this.seenAtMs };
  }

  /** Takes an entry of the record's key into account. False if it is not newer than what was seen. */
  observeRecord(entry: Entry, nowMs: number): boolean {
    if (this.revision !== null && entry.revision <= this.revision) return false;
    try {
      const record = entry.value === this.value ? this.record : decodeRecord(entry.value);
      this.install(record, entry.value, entry.revision, nowMs);
    } catch (error) {
      this.revision = entry.revision;
      this.value = null;
      this.unreadable = error;
    }
    return true;
  }

  /** False if this process has already seen this revision or a newer one; the time of first sight may still move back. */
  install(record: ElectionRecord, value: string, revision: Revision, nowMs: number): boolean {
    if (revision === this.revision) this.seenAtMs = Math.min(this.seenAtMs, nowMs);
    if (this.revision !== null && revision <= this.revision) return false;
    this.record = record;
    this.value = value;
    this.revision = revision;
    this.seenAtMs = nowMs;
    this.unreadable = null;
    this.#tellSuccessor();
    this.#dropIdleQueue();
    return true;
  }

  observeHistory({ value, revision }: Entry): boolean {
    if (this.historyRevision !== null && revision <= this.historyRevision) return false;
    this.historyRevision = revision;
    try {
      const { events, acts } = decodeHistory(value);
      this.historyNumber = events.at(-1)?.number ?? 0;
      this.historyActNumber = acts.at(-1)?.number ?? 0;
      this.historyLength = events.length + acts.length;
      this.historyValue = value;
      this.historyUnreadable = null;
    } catch (error) {
      this.historyUnreadable = error;
    }
    return true;
  }

  /** Decoded on each call: it is rarely needed, and kept as objects it would be most of a group's memory. */
  history(): GroupHistory {
    return this.historyValue === null ? EMPTY_HISTORY : decodeHistory(this.historyValue);
  }

  /** The last events and acts, those included that only the record has. */
  wholeHistory(): GroupHistory {
    const { events, acts } = this.history();
    const recorded = recordedHistory(this.record);
    return { events: mergeEvents(events, recorded.events), acts: mergeActs(acts, recorded.acts) };
  }

  get actNumber(): number {
    return this.record.act?.number ?? 0;
  }

  /** Calls `wake` when the group's events may have changed; returns the function that stops it. */
  listen(wake: () => void): () => void {
    this.watchers ??= new Set();
    this.watchers.add(wake);
    return () => {
      this.watchers?.delete(wake);
      if (this.watchers?.size === 0) this.watchers = null;
    };
  }

  /** One write of this group's record at a time, in the order of the calls. */
  take(): Promise<void> | null {
    if (!this.#taken) {
      this.#taken = true;
      return null;
    }
    this.#turns ??= new Fifo();
    const turns = this.#turns;
    return new Promise((resolve) => turns.push(resolve));
  }

  /** Passes the turn to the next caller. */
  release(): void {
    const next = this.#turns?.shift();
    if (next === undefined) {
      this.#taken = false;
      this.#turns = null;
    } else {
      next();
    }
  }

  /** The campaigns that wait here, for the rules. */
  get waiters(): Waiters<Waiter> {
    return this.queue ?? NO_WAITERS;
  }

  enqueue(waiter: Waiter): void {
    this.#openQueue().add(waiter);
  }

  /** This server has made the transfer ready, because the successor waited here. */
  transferMadeReady(): void {
    this.#openQueue().madeReady();
    this.#dropIdleQueue();
  }

  #openQueue(): CampaignQueue {
    if (this.queue === null) {
      this.queue = new CampaignQueue();
      this.#tellSuccessor();
    }
    return this.queue;
  }

  dequeue(waiter: Waiter): void {
    this.queue?.remove(waiter);
    this.#dropIdleQueue();
  }

  /** As `dequeue`, where the caller has hung up and may come back. */
  leave(waiter: Waiter, nowMs: number): void {
    this.queue?.leave(waiter, nowMs);
    this.#dropIdleQueue();
  }

  /** Takes out campaigns whose wait has ended, at most `limit`. Their places are kept for a moment. */
  takeEnded(nowMs: number, limit: number): readonly Waiter[] {
    const ended = this.queue?.takeEnded(nowMs, limit) ?? [];
    this.#dropIdleQueue();
    return ended;
  }

  #tellSuccessor(): void {
    const { transfer } = this.record;
    if (this.queue !== null) this.queue.successor = transfer?.ready === true ? transfer : null;
  }

  #dropIdleQueue(): void {
    if (this.queue?.isIdle === true) this.queue = null;
  }

  get isUnreadable(): boolean {
    return this.unreadable !== null || this.historyUnreadable !== null;
  }

  /** Deleted, with a history that was cut and delivered to all watches, and not in use. */
  get isTombstone(): boolean {
    const { deleted, eventNumber } = this.record;
    return (
      deleted &&
      !this.isUnreadable &&
      this.loggedNumber === eventNumber &&
      this.historyNumber === eventNumber &&
      this.historyActNumber === this.actNumber &&
      this.historyLength === recordedLength(this.record) &&
      this.historyWrite === null &&
      this.dueMs === Number.POSITIVE_INFINITY &&
      !this.inUpkeep &&
      this.#isUnused
    );
  }

  /** Nothing is known of the group, and it is not in use. */
  get isForgettable(): boolean {
    return this.revision === null && this.historyRevision === null && this.#isUnused;
  }

  get #isUnused(): boolean {
    return this.users === 0 && this.queue === null && this.watchers === null;
  }
}
