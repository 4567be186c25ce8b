/**
 * The foundation of all verbs of a StoreElector: the groups as this process has seen them, kept up to date by the feed,
 * and the one way to change a record.
 */
import { type CancelTimer, type Clock, type Reading, readClock, sleep } from "../clock.js";
import { decodeRecord, encodeRecord } from "../codec.js";
import { BackendUnavailableError, ClosedError, GroupNotFoundError } from "../errors.js";
import { losesAct, losesEvents } from "../history.js";
import { EMPTY_RECORD, type ElectionRecord, type Observation } from "../record.js";
import type { Change } from "../rules/terms.js";
import type { CasOp, Entry, Revision, Store } from "../store/store.js";
import { ActLog } from "./act-log.js";
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
import { parseKey, type Place, recordKey } from "./keys.js";
import { Slices } from "./slices.js";
import { StoreContact } from "./store-contact.js";

/** What a decision asks the engine to do. */
export type Step<T> =
  | {
      readonly kind: "write";
      readonly change: Change;
      /** What follows the write. */
      readonly written: Written<T>;
      /** Called when the write has landed. */
      readonly landed?: (revision: Revision) => void;
      /**
       * Called when the write did not land or its outcome is unknown. The request will be decided again on the newer
       * record.
       */
      readonly dropped?: () => void;
    }
  /** An answer that needs a record read after the request arrived. It may throw. */
  | { readonly kind: "answer"; readonly give: () => T }
  /** Nothing is answered to a caller, so no fresh read is needed. */
  | { readonly kind: "stay"; readonly value: T };

/** What follows a write: an answer made from the record that was written, or another decision. */
export type Written<T> = ((record: ElectionRecord) => T) | "decide again";

/**
 * Decides on the record as seen, at one reading of the clock. `uncertain`: an earlier write of this same request may
 * have happened.
 */
export type Decide<T> = (seen: Observation, now: Reading, uncertain: boolean) => Step<T>;

/**
 * The engine without its clock, for code that makes decisions. Such code uses only the reading that `Decide` was given,
 * so a pause of the process in the middle of a decision cannot lengthen a lease.
 */
export type ClocklessEngine = Omit<Engine, "clock" | "now" | "see">;

/** Total time limit of a request; after it the caller gets BACKEND_UNAVAILABLE. */
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
  /** `null` where members are not kept. */
  readonly members: MemberBook | null;
  readonly log: EventLog = new EventLog((listeners) => this.#wakeFrom([...listeners], 0));
  readonly acts: ActLog = new ActLog();
  readonly slices: Slices;
  readonly #batcher: Batcher;
  readonly #census: GroupCensus;
  readonly #onChange: (group: GroupState) => void;
  readonly explicitGroups: boolean;
  readonly #onSettled: (() => void)[] = [];
  #underWay = 0;

  /** `onChange` is called with each new record, including this server's own writes, and must not block. */
  constructor(store: Store, clock: Clock, options: EngineOptions, onChange: (group: GroupState) => void) {
    this.clock = clock;
    this.explicitGroups = options.explicitGroups;
    this.#census = new GroupCensus(options, () => this.readBarrier.wasPassed);
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

  /** For arrivals, views and timers. A decision gets its reading from `transact`. */
  now(): Reading {
    return readClock(this.clock);
  }

  /** A timer on this process's clock. */
  after(delayMs: number, callback: () => void): CancelTimer {
    return this.clock.after(delayMs, callback);
  }

  /** Resolves once every write acknowledged before the call has been seen, with a clock reading taken after that. */
  async fresh(): Promise<Reading> {
    await this.readBarrier.wait();
    return this.now();
  }

  obtain(groupId: string): GroupState {
    return this.groups.obtain(groupId);
  }

  /** The record as seen; the empty record for an unknown group. */
  see(groupId: string, now: Reading): Observation {
    return this.groups.get(groupId)?.observation(now) ?? { record: EMPTY_RECORD, ageMs: 0 };
  }

  /**
   * Drops a group that is not needed: requests for groups that do not exist must cost no memory. A group in use is
   * kept, so that there are never two objects for it.
   */
  forget(group: GroupState): void {
    this.groups.forget(group);
  }

  /**
   * Decides on the record as seen and carries the decision out. Repeats this until the decision stands: a conflict
   * brings the newer entry, and after a lost answer the record is read first.
   *
   * Every renewal passes through here. So this is one async function, and a write that lands waits only for its batch.
   */
  async transact<T>(group: GroupState, decide: Decide<T>, limitMs: number = REQUEST_LIMIT_MS): Promise<T> {
    const giveUpAtMs = this.clock.monotonicMs() + limitMs;
    let fresh = false;
    let uncertain = false;
    this.#enter(group);
    try {
      for (let attempt = 1; ; attempt++) {
        // Contention ends after a few attempts. A store that keeps refusing must not be flooded with writes.
        if (attempt > PATIENT_ATTEMPTS)
          await sleep(this.clock, Math.min(2 ** (attempt - PATIENT_ATTEMPTS), MAX_PAUSE_MS));
        const turn = group.take();
        if (turn !== null) await turn;
        /** Set while a write is on its way that has not landed. */
        let dropped: (() => void) | undefined;
        let callMs = MAX_CALL_MS;
        try {
          const now = this.now();
          callMs = readLimitMs(giveUpAtMs - now.monotonicMs);
          if (now.monotonicMs > giveUpAtMs) throw noWriteInTime(group.groupId);
          const seen = group.observation(now);
          const decided = decide(seen, now, uncertain);
          const step = this.#census.admit(group.groupId, seen.record, decided, uncertain);
          if (step.kind === "stay") return step.value;
          if (step.kind === "answer") {
            if (fresh) return step.give();
          } else {
            const { change } = step;
            dropped = step.dropped;
            if (this.#losesHistory(group, change.next)) {
              // Time passes until the history is written, so the request is decided again.
              await this.history.advance(group);
              dropped?.();
              continue;
            }
            callMs = callLimitMs(group.record.holder?.ttlMs, change.next.holder?.ttlMs);
            const op = opOf(group, change.next);
            const outcome = await this.#batcher.submit(op, callMs);
            if (outcome.kind === "swapped") {
              dropped = undefined;
              this.#written(group, change, op.value, outcome.revision, now);
              step.landed?.(outcome.revision);
              if (step.written !== "decide again") return step.written(change.next);
            }
            if (outcome.kind !== "uncertain") {
              if (outcome.kind === "conflict" && outcome.current !== null) this.#observe(outcome.current);
              dropped?.();
              // The entry of a conflict, or of this server's own write, is at least as new as what a sync would bring.
              fresh = true;
              continue;
            }
            uncertain = true;
          }
        } catch (error) {
          dropped?.();
          throw error;
        } finally {
          group.release();
        }
        await this.readBarrier.wait(callMs).finally(dropped);
        fresh = true;
      }
    } finally {
      this.#leave(group);
    }
  }

  /** Several steps on one group. The group stays the same object meanwhile. */
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

  /** Where groups must be created first: refuses a request for a group that was not created. */
  existing<T>(group: GroupState, decide: Decide<T>): Decide<T> {
    if (!this.explicitGroups) return decide;
    return (seen, now, uncertain) =>
      this.exists(seen.record)
        ? decide(seen, now, uncertain)
        : { kind: "answer", give: () => refuseUnknown(group.groupId) };
  }

  /** Runs `work` and lets `settled` wait for it. */
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

  /** Resolves when no request is in progress. */
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

  /**
   * This server's own write has landed. It counts from its decision: the durations in it are as of then, and no leader
   * counts its lease from later.
   */
  #written(group: GroupState, change: Change, value: string, revision: Revision, decided: Reading): void {
    const previous = group.record;
    if (group.install(change.next, value, revision, decided.monotonicMs)) this.#changed(group, previous);
    if (change.next.deleted) this.members?.empty(group.groupId);
    if (change.events.length > 0 || change.next.act !== previous.act) this.keepHistory(group);
  }

  #losesHistory(group: GroupState, next: ElectionRecord): boolean {
    return losesEvents(next, group.historyNumber) || losesAct(next, group.historyActNumber);
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
      const place = parseKey(entry.key);
      const group = this.#observe(entry, place);
      if (group === null) continue;
      if (place?.kind === "record") this.log.take(group, recordOf(group, entry), entry.revision);
      if (group.record.deleted) this.forget(group);
    }
    this.log.reach(revision);
  }

  #observe(entry: Entry, place: Place | null = parseKey(entry.key)): GroupState | null {
    if (place === null) return null;
    if (place.kind === "members") {
      this.members?.observe(place.groupId, entry);
      return null;
    }
    const group = this.obtain(place.groupId);
    const previous = group.record;
    if (place.kind === "history") {
      const wasUnreadable = group.isUnreadable;
      if (this.#observeHistory(group, entry)) this.#notify(group);
      // What could not be decided meanwhile can be decided now.
      if (wasUnreadable && !group.isUnreadable) this.#onChange(group);
    } else if (group.observeRecord(entry, this.clock.monotonicMs())) {
      this.#changed(group, previous);
    }
    return group;
  }

  #observeHistory(group: GroupState, entry: Entry): boolean {
    const { historyActNumber } = group;
    if (!group.observeHistory(entry)) return false;
    if (group.historyActNumber !== historyActNumber)
      for (const act of group.history().acts) this.acts.add(group.groupId, act);
    return true;
  }

  #changed(group: GroupState, previous: ElectionRecord): void {
    const { record } = group;
    if (record.act !== null && record.act !== previous.act) this.acts.add(group.groupId, record.act);
    this.#census.move(previous, record);
    if (record.deleted) this.members?.emptyLater(group.groupId);
    if (previous.eventNumber !== record.eventNumber) group.eventSeenAtMs = group.seenAtMs;
    const transferMoved = (previous.transfer === null) !== (record.transfer === null);
    if (previous.eventNumber !== record.eventNumber || transferMoved) this.#notify(group);
    this.#onChange(group);
  }

  /** After this call nothing more is seen. Everything in progress must have settled before. */
  async close(): Promise<void> {
    this.members?.close();
    await this.follower.close();
    for (const group of this.groups.values()) this.#notify(group);
  }

  #notify(group: GroupState): void {
    if (group.watchers !== null) this.#wakeFrom([...group.watchers], 0);
  }

  /**
   * Wakes a slice per turn: thousands of watchers woken in one turn would delay all other callers, including a leader's
   * renewal.
   */
  #wakeFrom(watchers: readonly (() => void)[], start: number): void {
    const end = start + WOKEN_AT_ONCE;
    for (let index = start; index < end; index++) watchers[index]?.();
    if (end < watchers.length) this.clock.soon(() => this.#wakeFrom(watchers, end));
  }
}

/** A renewal mostly writes the record as it was seen, whose text is known. */
function opOf(group: GroupState, next: ElectionRecord): CasOp {
  const value = next === group.record && group.value !== null ? group.value : encodeRecord(next);
  return { key: recordKey(group.groupId), expected: group.revision, value };
}

function noWriteInTime(groupId: string): BackendUnavailableError {
  return new BackendUnavailableError(
    `no write to group ${groupId} succeeded in time: too many concurrent writes, or a slow store`,
  );
}

/** The record in this entry; of its own write the group may know more already. `null`: the entry cannot be read. */
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
