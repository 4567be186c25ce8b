/**
 * Whether the store can be heard, for watches that asked to know. While the feed delivers something, as it does at each
 * renewal of any leader, the store is not asked. A silent feed may only mean that nothing happens in the store: then
 * one read for all watches shows whether the store answers.
 */
import { checkInteger, MIN_WATCH_MS } from "../check.js";
import { type Clock, sleep } from "../clock.js";
import type { WatchOptions } from "../elector.js";
import { BackendUnavailableError } from "../errors.js";
import { unlessAborted } from "../async/on-abort.js";
import { within } from "../async/within.js";

export interface ContactListener {
  /** How long the store may be silent before that is reported. */
  readonly quietMs: number;
  /** Called with the reason when the store cannot be heard, and with `null` when it is heard again. */
  readonly onContact: (error: unknown) => void;
}

/**
 * The store is read after this share of the time after which silence is reported. Renewals that are slightly late cost
 * no read.
 */
const READ_SHARE = 2 / 3;

/** `null` if the watch did not ask to know. */
export function contactListener({ quietMs, onContact }: WatchOptions = {}): ContactListener | null {
  if (quietMs === undefined || onContact === undefined) return null;
  checkInteger(quietMs, "quietMs", MIN_WATCH_MS.quiet, Number.MAX_SAFE_INTEGER);
  return { quietMs, onContact };
}

export class StoreContact {
  readonly #clock: Clock;
  readonly #read: (limitMs: number) => Promise<void>;
  readonly #listeners = new Set<ContactListener>();
  #heardAtMs = 0;
  /** Why the store cannot be heard; `null` while it can. */
  #lost: { readonly error: unknown } | null = null;
  #ending = new AbortController();

  constructor(clock: Clock, read: (limitMs: number) => Promise<void>) {
    this.#clock = clock;
    this.#read = read;
  }

  /** Returns the function that leaves. A listener that joins while the store cannot be heard is notified at once. */
  join(given: ContactListener): () => void {
    // A separate object for each watch: two watches may be given the same listener.
    const listener = { ...given };
    if (this.#listeners.size === 0) this.#heardAtMs = this.#clock.monotonicMs();
    const beforeMs = this.#quietMs();
    this.#listeners.add(listener);
    if (this.#lost !== null) listener.onContact(this.#lost.error);
    if (listener.quietMs < beforeMs) this.#restart();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#ending.abort();
      this.#lost = null;
    };
  }

  /** The store has delivered something. */
  heard(): void {
    if (this.#listeners.size === 0) return;
    this.#heardAtMs = this.#clock.monotonicMs();
    if (this.#lost !== null) this.#tell(null);
  }

  #restart(): void {
    this.#ending.abort();
    this.#ending = new AbortController();
    void this.#run(this.#ending.signal).catch(() => {});
  }

  /** Runs until the signal aborts. */
  async #run(signal: AbortSignal): Promise<void> {
    for (;;) {
      const quietMs = this.#quietMs();
      const answerMs = quietMs * (1 - READ_SHARE);
      const restMs = this.#heardAtMs + quietMs - answerMs - this.#clock.monotonicMs();
      if (restMs > 0) {
        await sleep(this.#clock, restMs, signal);
      } else {
        await this.#ask(answerMs, signal);
        if (this.#lost !== null) await sleep(this.#clock, answerMs, signal);
      }
    }
  }

  /** A read may have to wait for another caller's read, so it has its own time limit here. */
  async #ask(answerMs: number, signal: AbortSignal): Promise<void> {
    const late = (): Error =>
      new BackendUnavailableError(`the store has been silent for ${Math.round(this.#silentMs())} ms`);
    try {
      const limit = { limitMs: answerMs, signal, late };
      await within(this.#clock, limit, (ended) => unlessAborted(ended, this.#read(answerMs)));
      this.heard();
    } catch (error) {
      signal.throwIfAborted();
      // The feed may have been heard meanwhile.
      if (this.#lost === null && this.#silentMs() >= answerMs) this.#tell({ error });
    }
  }

  #tell(lost: { readonly error: unknown } | null): void {
    this.#lost = lost;
    for (const { onContact } of this.#listeners) onContact(lost?.error ?? null);
  }

  #silentMs(): number {
    return this.#clock.monotonicMs() - this.#heardAtMs;
  }

  #quietMs(): number {
    let leastMs = Number.POSITIVE_INFINITY;
    for (const { quietMs } of this.#listeners) leastMs = Math.min(leastMs, quietMs);
    return leastMs;
  }
}
