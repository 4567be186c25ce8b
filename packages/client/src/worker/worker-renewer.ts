/**
 * Heartbeats that survive a busy program: a separate thread with its own elector renews, while the thread that acts
 * shows that it is alive.
 *
 * Promised: if the event loop of this thread is blocked for less than `stallLimitMs`, counted from its last sign (one
 * with each heartbeat), the lease is kept and the first `isLeader()` afterwards is correct. If it is blocked for
 * longer, this thread no longer leads, and the lease expires at most one ttl after the limit. Not promised: anything in
 * a process that is stopped as a whole; then the lease expires as usual.
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
  /** How the thread opens the elector that it renews with. */
  readonly elector: ElectorDescription;
  /**
   * How long the event loop of this thread may be blocked without losing the leadership, in milliseconds. Too small: a
   * long computation costs the leadership. Too large: a leader that hangs blocks its group for this time plus one ttl.
   * It must allow two heartbeats.
   */
  readonly stallLimitMs: number;
}

const MAX_MS = 3_600_000;

/**
 * One thread for all elections that are given the same renewer. It runs from the start of the first election to the end
 * of the last, so that it is ready when one of them wins.
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

/** A sign takes up to two heartbeats: one until it is due, and nearly one for the health check before it. */
function checkRelations(stallLimitMs: number, { heartbeatIntervalMs, clock }: LeaseRenewerOptions): void {
  if (stallLimitMs <= 2 * heartbeatIntervalMs) {
    throw new InvalidRequestError(
      "stallLimitMs",
      `is ${stallLimitMs} and must be more than twice heartbeatIntervalMs, which is ${heartbeatIntervalMs}`,
    );
  }
  if (clock !== systemClock) {
    throw new InvalidRequestError("clock", "must be systemClock, because the renewal thread uses it");
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
