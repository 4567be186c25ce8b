/**
 * Group commit: operations that wait are sent as one batch as soon as a slot is free, so a busier store gets larger
 * batches. Callers send one operation per key at a time.
 *
 * Each operation has its own time limit, whatever else is in its batch. An operation without an answer by then is
 * uncertain; its batch continues for the others. If the store refuses a batch as a whole, each of its operations is
 * rejected and nothing was written. A batch that is refused as invalid is split, so that only the invalid operations
 * are rejected.
 *
 * No group waits long because of another group's time limit:
 * - Operations wait in lanes, one for each class of limits. The lane whose first operation is due first goes first, so no
 *   lane starves; a batch is filled up from the other lanes.
 * - A batch with a long limit blocks a lane with a shorter limit only for that shorter limit. A store that answers
 *   sooner never has more than `batchesInFlight` batches in flight; a store that hangs has at most that number for each
 *   lane.
 * - Operations that may wait have their own lane, and their batches are not mixed with other lanes.
 *
 * Callers that send their next operation as soon as they are answered would form two crowds, one of which always waits for the
 * commit of the other. So after a large batch the next one waits for the answered callers, for a few turns of the event loop
 * and only while operations arrive.
 */
import type { CancelTimer, Clock } from "../clock.js";
import { asBackendError, InvalidRequestError, type TenureError } from "../errors.js";
import type { CasOp, CasOutcome, Store } from "../store/store.js";
import { MAX_CALL_MS } from "./call-limit.js";
import { type CallWaiter, sharedCall } from "./shared-call.js";

class Pending implements CallWaiter {
  readonly op: CasOp;
  readonly lane: number;
  /** Its limit has passed. */
  isOver = false;
  readonly limitMs: number;
  readonly dueMs: number;
  readonly resolve: (outcome: CasOutcome) => void;
  readonly reject: (error: unknown) => void;

  constructor(
    op: CasOp,
    lane: number,
    limitMs: number,
    nowMs: number,
    resolve: (outcome: CasOutcome) => void,
    reject: (error: unknown) => void,
  ) {
    this.op = op;
    this.lane = lane;
    this.limitMs = limitMs;
    this.dueMs = nowMs + (lane === LATER ? LATER_MS : limitMs);
    this.resolve = resolve;
    this.reject = reject;
  }

  expire(cause: unknown): void {
    this.isOver = true;
    this.resolve({ kind: "uncertain", cause });
  }
}

interface Batch {
  readonly sentAtMs: number;
  readonly lane: number;
}

type Answer =
  | { readonly kind: "answered"; readonly outcomes: readonly CasOutcome[] }
  | { readonly kind: "refused"; readonly error: TenureError }
  | { readonly kind: "lost"; readonly cause: unknown };

/** The lane of operations that may wait: every other lane may go first, until this one is due. */
const LATER = 0;
const LATER_MS = 2 * MAX_CALL_MS;
/** The shortest limit of each lane, longest first. */
const LANES_MS = [Number.POSITIVE_INFINITY, MAX_CALL_MS, 500, 250, 125, 62, 31, 0];

/** A batch of fewer operations is not worth waiting for its callers. */
const CROWD = 16;
const GATHERING_TURNS = 4;

export class Batcher {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #lanes: readonly Pending[][] = LANES_MS.map(() => []);
  readonly #inFlight = new Set<Batch>();
  #scheduled = false;
  #cancelTimer: CancelTimer | null = null;
  #timerMs = Number.POSITIVE_INFINITY;
  /** How many turns the next batch may still wait for the callers of the last one. */
  #turnsLeft = 0;
  /** How many operations waited a turn ago, and how many will if all callers of the last batch come back. */
  #gathered = 0;
  #expected = 0;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** `limitMs` counts from the sending of the operation. The default is for operations that no lease waits for. */
  submit(op: CasOp, limitMs: number = MAX_CALL_MS): Promise<CasOutcome> {
    return this.#submit(op, laneOf(limitMs), limitMs);
  }

  /** For operations that no request waits for: behind everything else, in batches of their own. */
  submitLater(op: CasOp): Promise<CasOutcome> {
    return this.#submit(op, LATER, MAX_CALL_MS);
  }

  #submit(op: CasOp, lane: number, limitMs: number): Promise<CasOutcome> {
    return new Promise((resolve, reject) => {
      this.#lanes[lane]?.push(new Pending(op, lane, limitMs, this.#clock.monotonicMs(), resolve, reject));
      this.#schedule(lane);
    });
  }

  /**
   * At the end of the current turn of the event loop, so that all requests of the turn are sent together. A microtask
   * would run after the first of them.
   */
  #schedule(lane: number): void {
    if (this.#scheduled) return;
    const placeAtMs = this.#placeAtMs(lane);
    if (placeAtMs > this.#clock.monotonicMs()) return this.#wakeAt(placeAtMs);
    this.#scheduled = true;
    const send = (): void => {
      if (this.#gathers()) return this.#clock.soon(send);
      this.#scheduled = false;
      for (let batch = this.#next(); batch.length > 0; batch = this.#next()) void this.#send(batch);
      this.#scheduleAll();
    };
    this.#clock.soon(send);
  }

  /** The first turn ends before an answered caller can be heard; after it each turn must have brought operations. */
  #gathers(): boolean {
    if (this.#turnsLeft === 0) return false;
    const waiting = this.#waiting();
    const isFirst = this.#turnsLeft === GATHERING_TURNS;
    const isWorthwhile = waiting < this.#expected && (isFirst || waiting > this.#gathered);
    this.#gathered = waiting;
    this.#turnsLeft = isWorthwhile ? this.#turnsLeft - 1 : 0;
    return isWorthwhile;
  }

  #waiting(): number {
    let count = 0;
    for (const [lane, waiting] of this.#lanes.entries()) if (lane !== LATER) count += waiting.length;
    return count;
  }

  #scheduleAll(): void {
    for (const [lane, waiting] of this.#lanes.entries()) if (waiting.length > 0) this.#schedule(lane);
  }

  /** When a batch of this lane may be sent if no batch is answered; `Infinity`: not before one has ended. */
  #placeAtMs(lane: number): number {
    const missing = this.#inFlight.size - this.#store.limits.batchesInFlight;
    if (missing < 0) return Number.NEGATIVE_INFINITY;
    const limitMs = LANES_MS[lane] ?? 0;
    // In the order of sending, which is also the order in which their slots become free.
    let left = missing;
    for (const { lane: sent, sentAtMs } of this.#inFlight) {
      if (sent < lane && left-- === 0) return sentAtMs + limitMs;
    }
    return Number.POSITIVE_INFINITY;
  }

  #wakeAt(timeMs: number): void {
    if (timeMs >= this.#timerMs) return;
    this.#cancelTimer?.();
    this.#timerMs = timeMs;
    this.#cancelTimer = this.#clock.after(timeMs - this.#clock.monotonicMs(), () => {
      this.#cancelTimer = null;
      this.#timerMs = Number.POSITIVE_INFINITY;
      this.#scheduleAll();
    });
  }

  /** Of the lanes that have a free slot, the one that is due first. */
  #next(): readonly Pending[] {
    const nowMs = this.#clock.monotonicMs();
    const ready = this.#lanes.filter((waiting, lane) => waiting.length > 0 && this.#placeAtMs(lane) <= nowMs);
    ready.sort((a, b) => (a[0]?.dueMs ?? 0) - (b[0]?.dueMs ?? 0));
    const isLater = ready[0]?.[0]?.lane === LATER;
    let batch: readonly Pending[] = [];
    for (const waiting of ready) {
      if ((waiting[0]?.lane === LATER) !== isLater) continue;
      const taken = waiting.splice(0, this.#store.limits.batchOps - batch.length);
      batch = batch.length === 0 ? taken : [...batch, ...taken];
    }
    return batch;
  }

  async #send(waiting: readonly Pending[]): Promise<void> {
    // The lane of the longest limit in it.
    let lane = LANES_MS.length;
    for (const pending of waiting) lane = Math.min(lane, pending.lane);
    const batch: Batch = { sentAtMs: this.#clock.monotonicMs(), lane };
    this.#inFlight.add(batch);
    await this.#deliver(waiting);
    this.#inFlight.delete(batch);
    if (this.#inFlight.size === 0 && waiting.length >= CROWD) {
      this.#turnsLeft = GATHERING_TURNS;
      this.#expected = this.#waiting() + waiting.length;
    }
    this.#scheduleAll();
  }

  async #deliver(waiting: readonly Pending[]): Promise<void> {
    const answer = await this.#ask(waiting);
    if (answer.kind === "refused" && answer.error instanceof InvalidRequestError && waiting.length > 1)
      return this.#split(waiting);
    for (const [index, pending] of waiting.entries()) {
      if (answer.kind === "refused") pending.reject(answer.error);
      else if (answer.kind === "lost") pending.resolve({ kind: "uncertain", cause: answer.cause });
      else
        pending.resolve(
          answer.outcomes[index] ?? { kind: "uncertain", cause: new Error("no outcome was given") },
        );
    }
  }

  /**
   * Sends one half after the other, in the slot of the whole batch. Nothing of the batch was written, so operations
   * that were given up meanwhile are not sent.
   */
  async #split(waiting: readonly Pending[]): Promise<void> {
    const left = waiting.filter((pending) => !pending.isOver);
    const middle = Math.ceil(left.length / 2);
    for (const half of [left.slice(0, middle), left.slice(middle)]) {
      if (half.length > 0) await this.#deliver(half);
    }
  }

  #ask(waiting: readonly Pending[]): Promise<Answer> {
    const ops = waiting.map((pending) => pending.op);
    return sharedCall(this.#clock, "a write", waiting, (signal) =>
      this.#store.compareAndSet(ops, { signal }).then(
        (outcomes): Answer => ({ kind: "answered", outcomes }),
        (cause: unknown): Answer => ({ kind: "refused", error: asBackendError(cause) }),
      ),
    ).catch((cause: unknown): Answer => ({ kind: "lost", cause }));
  }
}

function laneOf(limitMs: number): number {
  return LANES_MS.findIndex((shortestMs) => limitMs >= shortestMs);
}
