/**
 * What all verbs of a StoreElector stand on: the groups as this process has seen them, kept current by the feed, and one
 * way to change a record.
 */
import { type CancelTimer, type Clock, type Reading, readClock, sleep } from "../clock.js";
import { decodeRecord, encodeRecord } from "../codec.js";
import { BackendUnavailableError, ClosedError, GroupNotFoundError } from "../errors.js";
import { losesEvents } from "../history.js";
import { EMPTY_RECORD, type ElectionRecord, type Observation } from "../record.js";
import type { Change } from "../rules/terms.js";
import type { Entry, Revision, Store } from "../store/store.js";
import { Batcher } from "./batcher.js";
import { callLimitMs, MAX_CALL_MS, readLimitMs } from "./call-limit.js";
import { EventLog } from "./event-log.js";
import { FeedFollower } from "./feed-follower.js";
import { ReadBarrier } from "./read-barrier.js";
import { GroupCensus, type GroupLimits } from "./group-census.js";
import type { GroupState } from "./group-state.js";
import { GroupTable } from "./group-table.js";
import { HistoryKeeper } from "./history-keeper.js";
import { MemberBook } from "./member-book.js";
import { parseKey, recordKey } from "./keys.js";
import { Slices } from "./slices.js";
import { StoreContact } from "./store-contact.js";

/** What to do about a request, given the record as seen. */
export type Step<T> =
  | {
      readonly kind: "write";
      readonly change: Change;
      /** What then. */
      readonly written: Written<T>;
      /** It has been written. */
      readonly landed?: (revision: Revision) => void;
      /** It was not written, or nobody can tell; it will be decided again, on what is there then. */
      readonly dropped?: () => void;
    }
  /** An answer that needs a record read after the request came. It may throw. */
  | { readonly kind: "answer"; readonly give: () => T }
  /** Nothing is said to anyone, so nothing need be fresh. */
  | { readonly kind: "stay"; readonly value: T };

/** What follows a write: an answer made of the record that was written, or another decision. */
export type Written<T> = ((record: ElectionRecord) => T) | "decide again";

/**
 * Decides on the record as seen, at one reading of the clock. `uncertain`: a write of this very request may have
 * happened.
 */
export type Decide<T> = (seen: Observation, now: Reading, uncertain: boolean) => Step<T>;

/**
 * The engine as the code that makes decisions sees it: without a clock. Such code has the reading that `Decide` was
 * given and no other, so a stop of the process in the middle of a decision cannot lengthen anybody's lease.
 */
export type ClocklessEngine = Omit<Engine, "clock" | "now" | "see">;

/** How long a request may be about it before it is told that the store is unavailable. */
const REQUEST_LIMIT_MS = 3000;
const PATIENT_ATTEMPTS = 8;
const MAX_PAUSE_MS = 64;
const WOKEN_AT_ONCE = 100;

export interface EngineOptions extends GroupLimits {
  readonly explicitGroups: boolean;
  readonly keepMembers: boolean;
}

export class Engine {
  readonly clock: Clock;
  readonly groups: GroupTable = new GroupTable();
  readonly readBarrier: ReadBarrier;
  readonly contact: StoreContact;
  readonly history: HistoryKeeper;
  readonly follower: FeedFollower;
  /** `null` where nobody keeps account of members. */
  readonly members: MemberBook | null;
  readonly log: EventLog = new EventLog((listeners) => this.#wakeFrom([...listeners], 0));
  readonly slices: Slices;
  readonly #batcher: Batcher;
  readonly #census: GroupCensus;
  readonly #onChange: (group: GroupState) => void;
  readonly explicitGroups: boolean;
  readonly #onSettled: (() => void)[] = [];
  #underWay = 0;

  /** `onChange` hears of each new record, its own writes included, and must not block. */
  constructor(store: Store, clock: Clock, options: EngineOptions, onChange: (group: GroupState) => void) {
    this.clock = clock;
    this.explicitGroups = options.explicitGroups;
    this.#census = new GroupCensus(options);
    this.slices = new Slices(clock);
    this.#onChange = onChange;
    this.follower = new FeedFollower(store, clock, {
      snapshot: (entries, revision) => this.#takeSnapshot(entries, revision),
      changes: (entries, revision) => this.#takeChanges(entries, revision),
    });
    this.readBarrier = new ReadBarrier(store, clock, this.follower);
    this.contact = new StoreContact(clock, (limitMs) => this.readBarrier.wait(limitMs));
    this.#batcher = new Batcher(store, clock);
    this.history = new HistoryKeeper(this.#batcher, this.readBarrier);
    this.members = options.keepMembers ? new MemberBook(this.#batcher, clock) : null;
  }

  /** For what is not a decision: arrivals, views, timers. A decision is given its reading by `transact`. */
  now(): Reading {
    return readClock(this.clock);
  }

  /** A timer on this process's clock. */
  after(delayMs: number, callback: () => void): CancelTimer {
    return this.clock.after(delayMs, callback);
  }

  /** Resolves once every write acknowledged before the call has been seen, with a reading of the clock after that. */
  async fresh(): Promise<Reading> {
    await this.readBarrier.wait();
    return this.now();
  }

  obtain(groupId: string): GroupState {
    return this.groups.obtain(groupId);
  }

  /** The record as seen; the empty one for a group never heard of. */
  see(groupId: string, now: Reading): Observation {
    return this.groups.get(groupId)?.observation(now) ?? { record: EMPTY_RECORD, ageMs: 0 };
  }

  /** Asking for groups that do not exist must cost no memory; one in use must not be made anew beside itself. */
  forget(group: GroupState): void {
    this.groups.forget(group);
  }

  /**
   * Decides on the record as seen and carries the decision out, again and again until it stands: a conflict brings the
   * entry to decide on, a lost answer is followed by a look at what is there.
   */
  async transact<T>(group: GroupState, decide: Decide<T>, limitMs: number = REQUEST_LIMIT_MS): Promise<T> {
    this.#enter(group);
    try {
      const limited = this.#census.limit(group.groupId, decide, () => this.readBarrier.wasPassed);
      return await this.#transact(group, limited, this.clock.monotonicMs() + limitMs);
    } finally {
      this.#leave(group);
    }
  }

  /** Several steps on one group, which stays the same object meanwhile. */
  async with<T>(groupId: string, work: (group: GroupState) => Promise<T>): Promise<T> {
    const group = this.obtain(groupId);
    this.#enter(group);
    try {
      return await work(group);
    } finally {
      this.#leave(group);
    }
  }

  exists(record: ElectionRecord): boolean {
    return !this.explicitGroups || record.config !== null;
  }

  /** Where groups must be created first: nothing else is decided of one that was not. */
  existing<T>(group: GroupState, decide: Decide<T>): Decide<T> {
    return (seen, now, uncertain) => {
      if (this.exists(seen.record)) return decide(seen, now, uncertain);
      return { kind: "answer", give: () => refuseUnknown(group.groupId) };
    };
  }

  /** `work`, which is waited for at the end. */
  async track<T>(work: Promise<T>): Promise<T> {
    this.#underWay++;
    try {
      return await work;
    } finally {
      this.#done();
    }
  }

  keepHistory(group: GroupState): void {
    void this.track(this.history.bringUpToDate(group));
  }

  /** Resolves when nothing is under way. */
  settled(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onSettled.push(resolve));
  }

  #enter(group: GroupState): void {
    group.users++;
    this.#underWay++;
  }

  #leave(group: GroupState): void {
    group.users--;
    this.forget(group);
    this.#done();
  }

  #done(): void {
    if (--this.#underWay === 0) for (const resolve of this.#onSettled.splice(0)) resolve();
  }

  async #transact<T>(group: GroupState, decide: Decide<T>, giveUpAtMs: number): Promise<T> {
    let fresh = false;
    let uncertain = false;
    for (let attempt = 1; ; attempt++) {
      // Contention is over in a few attempts; a store that keeps refusing must not be run down.
      if (attempt > PATIENT_ATTEMPTS)
        await sleep(this.clock, Math.min(2 ** (attempt - PATIENT_ATTEMPTS), MAX_PAUSE_MS));
      const turn = group.take();
      if (turn !== null) await turn;
      let dropped: (() => void) | undefined;
      let limitMs = MAX_CALL_MS;
      try {
        const now = this.now();
        limitMs = readLimitMs(giveUpAtMs - now.monotonicMs);
        if (now.monotonicMs > giveUpAtMs) {
          throw new BackendUnavailableError(`${group.groupId} is too contended, or the store too slow`);
        }
        const step = decide(group.observation(now), now, uncertain);
        if (step.kind === "stay") return step.value;
        if (step.kind === "answer") {
          if (fresh) return step.give();
        } else {
          limitMs = callLimitMs(group.record.holder?.ttlMs, step.change.next.holder?.ttlMs);
          const outcome = await this.#write(group, step.change, now, limitMs).catch((error: unknown) => {
            step.dropped?.();
            throw error;
          });
          if (outcome.kind === "written") {
            step.landed?.(outcome.revision);
            if (step.written !== "decide again") return step.written(step.change.next);
          }
          if (outcome.kind !== "uncertain") {
            if (outcome.kind !== "written") step.dropped?.();
            // A conflict's entry, or one's own, is no older than what a sync would bring.
            fresh ||= outcome.kind !== "history first";
            continue;
          }
          uncertain = true;
          dropped = step.dropped;
        }
      } finally {
        group.release();
      }
      await this.readBarrier.wait(limitMs).finally(dropped);
      fresh = true;
    }
  }

  /**
   * `history first`: that had to be written before, and time has passed. One's own write counts from when it was
   * decided: its durations are as of then, and no leader counts its lease from later.
   */
  async #write(group: GroupState, change: Change, decided: Reading, limitMs: number): Promise<WriteOutcome> {
    if (losesEvents(change.next, group.historyNumber)) {
      await this.history.advance(group);
      return { kind: "history first" };
    }
    const value =
      change.next === group.record && group.value !== null ? group.value : encodeRecord(change.next);
    const outcome = await this.#batcher.submit(
      { key: recordKey(group.groupId), expected: group.revision, value },
      limitMs,
    );
    switch (outcome.kind) {
      case "swapped": {
        const previous = group.record;
        if (group.install(change.next, value, outcome.revision, decided.monotonicMs))
          this.#changed(group, previous);
        if (change.next.deleted) this.members?.empty(group.groupId);
        if (change.events.length > 0 || change.next.deleted) this.keepHistory(group);
        return { kind: "written", revision: outcome.revision };
      }
      case "conflict":
        if (outcome.current !== null) this.#observe(outcome.current);
        return { kind: "conflict" };
      case "uncertain":
        return { kind: "uncertain" };
    }
  }

  #takeSnapshot(entries: readonly Entry[], revision: Revision): void {
    this.#takeChanges(entries, revision);
    for (const group of this.groups.values()) {
      if (group.record.deleted) this.members?.emptyLater(group.groupId);
      this.forget(group);
    }
  }

  #takeChanges(entries: readonly Entry[], revision: Revision): void {
    this.contact.heard();
    for (const entry of entries) {
      const group = this.#observe(entry);
      if (group === null) continue;
      if (parseKey(entry.key)?.kind === "record")
        this.log.take(group, recordOf(group, entry), entry.revision);
      if (group.record.deleted) this.forget(group);
    }
    this.log.reach(revision);
  }

  #observe(entry: Entry): GroupState | null {
    const place = parseKey(entry.key);
    if (place === null) return null;
    if (place.kind === "members") {
      this.members?.observe(place.groupId, entry);
      return null;
    }
    const group = this.obtain(place.groupId);
    const previous = group.record;
    if (place.kind === "history") {
      const wasUnreadable = group.isUnreadable;
      if (group.observeHistory(entry)) this.#notify(group);
      // What could not be decided meanwhile can be decided now.
      if (wasUnreadable && !group.isUnreadable) this.#onChange(group);
    } else if (group.observeRecord(entry, this.clock.monotonicMs())) {
      this.#changed(group, previous);
    }
    return group;
  }

  #changed(group: GroupState, previous: ElectionRecord): void {
    const { record } = group;
    this.#census.move(previous, record);
    if (record.deleted) this.members?.emptyLater(group.groupId);
    if (previous.eventNumber !== record.eventNumber) group.eventSeenAtMs = group.seenAtMs;
    const transferMoved = (previous.transfer === null) !== (record.transfer === null);
    if (previous.eventNumber !== record.eventNumber || transferMoved) this.#notify(group);
    this.#onChange(group);
  }

  /** After this nothing more is seen; what is under way must have settled. */
  async close(): Promise<void> {
    this.members?.close();
    await this.follower.close();
    for (const group of this.groups.values()) this.#notify(group);
  }

  #notify(group: GroupState): void {
    if (group.watchers !== null) this.#wakeFrom([...group.watchers], 0);
  }

  /** A slice at a time: thousands who wake in one turn would keep everyone else waiting, a leader's renewal too. */
  #wakeFrom(watchers: readonly (() => void)[], start: number): void {
    const end = start + WOKEN_AT_ONCE;
    for (let index = start; index < end; index++) watchers[index]?.();
    if (end < watchers.length) this.clock.soon(() => this.#wakeFrom(watchers, end));
  }
}

type WriteOutcome =
  | { readonly kind: "written"; readonly revision: Revision }
  | { readonly kind: "conflict" }
  | { readonly kind: "uncertain" }
  | { readonly kind: "history first" };

/** As this entry has it: of an own write the group may know more. `null`: it cannot be read. */
function recordOf(group: GroupState, { value, revision }: Entry): ElectionRecord | null {
  if (revision === group.revision) return group.unreadable === null ? group.record : null;
  try {
    return decodeRecord(value);
  } catch {
    return null;
  }
}

export function refuseUnknown(groupId: string): never {
  throw new GroupNotFoundError(groupId);
}

export function closedError(): ClosedError {
  return new ClosedError("the elector is closed");
}
