/**
 * Heartbeats that survive a busy program: a thread of its own renews, with an elector of its own, while the thread that
 * acts shows that it lives.
 *
 * Promised: as long as the event loop of this thread is held up for less than `stallLimitMs`, counted from its last sign,
 * which comes with each heartbeat, the lease is kept, and the first `isLeader()` afterwards is right. Held up for longer,
 * this thread leads no more; the lease runs out by itself, at most a ttl after the limit. Not promised: anything
 * in a process that is stopped as a whole; then the lease runs out as always.
 */
import { InvalidRequestError, sleep, systemClock } from "@tenure/core";
import { checkInteger, checkKeys, isObject, onAbort } from "@tenure/core/internal";
import type {
  LeaseRenewer,
  LeaseRenewerFactory,
  LeaseRenewerHold,
  LeaseRenewerOptions,
  LeaseRenewerParts,
} from "../election/lease-renewer.js";
import { RenewalThread } from "./renewal-thread.js";
import { SharedLease } from "./shared-lease.js";
import { type ElectorDescription, parseDescription } from "./thread-elector.js";

/** Options of `workerRenewer`. */
export interface WorkerRenewerOptions {
  /** From what the thread opens the elector that it renews with. */
  readonly elector: ElectorDescription;
  /** So long may this thread be held up. A stalled leader blocks its group for as long, and a ttl more. */
  readonly stallLimitMs: number;
}

const MAX_MS = 3_600_000;

/**
 * One thread for all elections that are given the same renewer. It runs from the start of the first of them to the end of the
 * last, so that it is ready when one of them wins.
 */
export function workerRenewer(given: WorkerRenewerOptions): LeaseRenewerFactory {
  if (!isObject(given)) throw new InvalidRequestError("options", "must be an object");
  checkKeys(given, "", ["elector", "stallLimitMs"]);
  const elector = parseDescription(given.elector);
  const stallLimitMs = checkInteger(given.stallLimitMs, "stallLimitMs", 1, MAX_MS);
  const threads = new SharedThread(elector);
  return Object.assign(
    (parts: LeaseRenewerParts) => new WorkerRenewer(parts, stallLimitMs, () => threads.current()),
    {
      open: () => threads.open(),
      check: (options: LeaseRenewerOptions) => checkRelations(stallLimitMs, options),
    },
  );
}

/** A sign of life takes up to two heartbeats: one to come, and nearly one for the health check before it. */
function checkRelations(stallLimitMs: number, { heartbeatIntervalMs, clock }: LeaseRenewerOptions): void {
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

/** The thread of one renewer, counted by the elections that hold it open. */
class SharedThread {
  readonly #elector: ElectorDescription;
  #thread: RenewalThread | null = null;
  #holds = 0;

  constructor(elector: ElectorDescription) {
    this.#elector = elector;
  }

  current(): RenewalThread {
    if (this.#thread === null || !this.#thread.isOpen) this.#thread = new RenewalThread(this.#elector);
    return this.#thread;
  }

  async open(): Promise<LeaseRenewerHold> {
    const thread = this.current();
    this.#holds += 1;
    let isHeld = true;
    const close = () => {
      if (!isHeld) return;
      isHeld = false;
      this.#holds -= 1;
      if (this.#holds === 0) this.#thread?.close();
    };
    try {
      await thread.opened;
    } catch (error) {
      close();
      throw error;
    }
    return {
      get isOpen() {
        return thread.isOpen;
      },
      close,
    };
  }
}

class WorkerRenewer implements LeaseRenewer {
  readonly lease: SharedLease;
  readonly #parts: LeaseRenewerParts;
  readonly #stallLimitMs: number;
  readonly #thread: () => RenewalThread;
  readonly #stopping = new AbortController();

  constructor(parts: LeaseRenewerParts, stallLimitMs: number, thread: () => RenewalThread) {
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
    this.#showLife().catch((error: unknown) => {
      if (!this.#stopping.signal.aborted) this.#parts.broken(error);
    });
    return true;
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #showLife(): Promise<never> {
    const { clock, heartbeatIntervalMs, mayRenew } = this.#parts;
    const { signal } = this.#stopping;
    for (;;) {
      await sleep(clock, heartbeatIntervalMs, signal);
      const isFit = await mayRenew();
      signal.throwIfAborted();
      this.lease.sign(isFit);
    }
  }
}
