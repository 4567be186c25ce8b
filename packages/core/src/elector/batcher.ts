/**
 * Group commit. What is waiting goes out as one batch as soon as a place is free, so the busier the store the larger
 * the batches. Callers keep to one operation per key at a time.
 *
 * Each operation has a time limit of its own, whatever else is in its batch. One without an answer by then is uncertain;
 * its batch goes on for the others. A batch that the store refused as a whole rejects each of its operations, and nothing
 * was written. One that it refused as invalid is split, so that only the operations at fault are rejected.
 *
 * No group waits long for another's limit:
 * - Operations wait in lanes, one for each class of limits. The lane whose first operation is due first goes first, so no
 *   lane starves; a batch is filled up from the other lanes.
 * - A batch that may take long holds its place against a shorter lane only for as long as that lane's own limit. A store that
 *   answers sooner never has more than `batchesInFlight` batches; one that hangs has at most so many of each lane.
 * - What may wait has a lane of its own, and its batches are not filled up from, nor into, other lanes.
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

/** The lane of what may wait: any other may go first, until this one is due. */
const LATER = 0;
const LATER_MS = 2 * MAX_CALL_MS;
/** The shortest limit of each lane, longest first. */
const LANES_MS = [Number.POSITIVE_INFINITY, MAX_CALL_MS, 500, 250, 125, 62, 31, 0];

export class Batcher {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #lanes: readonly Pending[][] = LANES_MS.map(() => []);
  readonly #inFlight = new Set<Batch>();
  #scheduled = false;
  #cancelTimer: CancelTimer | null = null;
  #timerMs = Number.POSITIVE_INFINITY;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** `limitMs` counts from when the operation is sent. The default is for what no lease waits for. */
  submit(op: CasOp, limitMs: number = MAX_CALL_MS): Promise<CasOutcome> {
    return this.#submit(op, laneOf(limitMs), limitMs);
  }

  /** For what nobody waits for: behind everything else, in batches of its own. */
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
   * At the end of the present turn of the event loop, so that all requests that it brings go out together; a microtask
   * would come after the first of them.
   */
  #schedule(lane: number): void {
    if (this.#scheduled) return;
    const placeAtMs = this.#placeAtMs(lane);
    if (placeAtMs > this.#clock.monotonicMs()) return this.#wakeAt(placeAtMs);
    this.#scheduled = true;
    this.#clock.soon(() => {
      this.#scheduled = false;
      for (let batch = this.#next(); batch.length > 0; batch = this.#next()) void this.#send(batch);
      this.#scheduleAll();
    });
  }

  #scheduleAll(): void {
    for (const [lane, waiting] of this.#lanes.entries()) if (waiting.length > 0) this.#schedule(lane);
  }

  /** When a batch of this lane may be sent, if none is answered; `Infinity`: not before one has ended. */
  #placeAtMs(lane: number): number {
    const missing = this.#inFlight.size - this.#store.limits.batchesInFlight;
    if (missing < 0) return Number.NEGATIVE_INFINITY;
    const limitMs = LANES_MS[lane] ?? 0;
    // In the order in which they were sent, which is that in which they free their places.
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

  /** Of the lanes that have a place now, the one that is due first first. */
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

  /** One half after the other, in the place of the whole. Nothing of it was written, so what was given up stays unsent. */
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
