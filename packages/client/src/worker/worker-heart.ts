/**
 * Heartbeats that survive a busy program: a thread of its own renews, with an elector of its own, while the thread that
 * acts shows that it lives.
 *
 * Promised: as long as the event loop of this thread is held up for less than `stallLimitMs`, counted from its last sign,
 * which comes with each heartbeat, the lease is kept, and the first `isLeader()` afterwards is right. Held up for longer,
 * this thread leads no more; the lease runs out by itself, at most a ttl after the limit. Not promised: anything
 * in a process that is stopped as a whole; then the lease runs out as always.
 */
import {
  checkInteger,
  checkKeys,
  InvalidRequestError,
  isObject,
  onAbort,
  sleep,
  systemClock,
} from "@tenure/core";
import type { Heart, HeartFactory, HeartOptions, HeartParts } from "../election/heart.js";
import { HeartThread } from "./heart-thread.js";
import { SharedLease } from "./shared-lease.js";
import { type ElectorDescription, parseDescription } from "./thread-elector.js";

export interface WorkerHeartOptions {
  /** From what the thread opens the elector that it renews with. */
  readonly elector: ElectorDescription;
  /** So long may this thread be held up. A stalled leader blocks its group for as long, and a ttl more. */
  readonly stallLimitMs: number;
}

const LONGEST_MS = 3_600_000;

/** One thread for all elections that are given the same heart; it runs while one of them leads. */
export function workerHeart(given: WorkerHeartOptions): HeartFactory {
  if (!isObject(given)) throw new InvalidRequestError("options", "must be an object");
  checkKeys(given, "", ["elector", "stallLimitMs"]);
  const elector = parseDescription(given.elector);
  const stallLimitMs = checkInteger(given.stallLimitMs, "stallLimitMs", 1, LONGEST_MS);
  let thread: HeartThread | null = null;
  const current = (): HeartThread => {
    if (thread === null || !thread.isOpen) thread = new HeartThread(elector);
    return thread;
  };
  return Object.assign((parts: HeartParts) => new WorkerHeart(parts, stallLimitMs, current), {
    check: (options: HeartOptions) => checkRelations(stallLimitMs, options),
  });
}

/** A sign of life takes up to two heartbeats: one to come, and nearly one for the health check before it. */
function checkRelations(stallLimitMs: number, { heartbeatIntervalMs, clock }: HeartOptions): void {
  if (stallLimitMs <= 2 * heartbeatIntervalMs) {
    throw new InvalidRequestError(
      "stallLimitMs",
      `is ${stallLimitMs} and must be more than twice heartbeatIntervalMs, which is ${heartbeatIntervalMs}`,
    );
  }
  if (clock !== systemClock) {
    throw new InvalidRequestError("clock", "must be the system's: a thread of its own has no other");
  }
}

class WorkerHeart implements Heart {
  readonly lease: SharedLease;
  readonly #parts: HeartParts;
  readonly #stallLimitMs: number;
  readonly #thread: () => HeartThread;
  readonly #stopping = new AbortController();

  constructor(parts: HeartParts, stallLimitMs: number, thread: () => HeartThread) {
    const { renewal, clock, driftRatio, notLeader } = parts;
    this.#parts = parts;
    this.#stallLimitMs = stallLimitMs;
    this.#thread = thread;
    this.lease = new SharedLease({ term: renewal.term, clock, driftRatio, stallLimitMs, notLeader });
  }

  start(): boolean {
    const { won, renewal, heartbeatIntervalMs, timeoutMs, retry, driftRatio } = this.#parts;
    if (!this.lease.begin(won)) return false;
    const thread = this.#thread();
    const order = {
      memory: this.lease.memory.buffer,
      renewal,
      won: { ...won, sent: this.lease.machineMoment(won.sent) },
      heartbeatIntervalMs,
      timeoutMs,
      retry,
      driftRatio,
      stallLimitMs: this.#stallLimitMs,
    };
    onAbort(this.#stopping.signal, thread.lead(order, this.#parts));
    // It ends by the abort alone.
    this.#showLife(thread).catch(() => {});
    return true;
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #showLife(thread: HeartThread): Promise<never> {
    const { clock, heartbeatIntervalMs, mayBeat, failed } = this.#parts;
    const { signal } = this.#stopping;
    for (;;) {
      await sleep(clock, heartbeatIntervalMs, signal);
      const isFit = await mayBeat();
      signal.throwIfAborted();
      this.lease.sign(isFit);
      if (thread.failure !== null) failed(thread.failure, 0, false);
    }
  }
}
