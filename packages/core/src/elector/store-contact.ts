/**
 * Whether the store can be heard, for watches that want to know. As long as the feed delivers something, as it does at each renewal of
 * any leader, nothing is asked. A silent feed may be that of a store in which nothing happens: one read for all watches
 * shows whether the store answers.
 */
import { checkInteger, MIN_WATCH_MS } from "../check.js";
import { type Clock, sleep } from "../clock.js";
import type { WatchOptions } from "../elector.js";
import { BackendUnavailableError } from "../errors.js";
import { unlessAborted } from "../async/on-abort.js";
import { within } from "../async/within.js";

export interface ContactListener {
  /** How long nothing may be heard before that is reported. */
  readonly quietMs: number;
  /** Why the store cannot be heard, or `null` when it is heard again. */
  readonly onContact: (error: unknown) => void;
}

/** When the store is read, of the time after which the silence is reported. Renewals that come a little late cost no read. */
const READ_SHARE = 2 / 3;

/** `null` where nobody wants to know. */
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
  /** Why it cannot be heard; `null` while it can. */
  #lost: { readonly error: unknown } | null = null;
  #ending = new AbortController();

  constructor(clock: Clock, read: (limitMs: number) => Promise<void>) {
    this.#clock = clock;
    this.#read = read;
  }

  /** Returns how to leave. A listener that joins while the store cannot be heard is told so. */
  join(given: ContactListener): () => void {
    // One of its own for each watch: two may be given the same.
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

  /** The store has said something. */
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

  /** Ends by the signal alone. */
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

  /** A read may have to wait for one of somebody else, so it has a limit of its own here. */
  async #ask(answerMs: number, signal: AbortSignal): Promise<void> {
    const late = (): Error =>
      new BackendUnavailableError(`the store has said nothing for ${Math.round(this.#silentMs())} ms`);
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
