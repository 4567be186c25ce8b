/**
 * Linearizable reads at memory speed: one `sync` of the store serves every request that came before it was sent. Whoever
 * comes later takes part in the next one; to reuse one that is under way would show them the past.
 */
import type { Clock } from "../clock.js";
import { asBackendError } from "../errors.js";
import type { Store } from "../store/store.js";
import type { FeedFollower } from "./feed-follower.js";
import { within } from "./within.js";

interface Round {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class Freshness {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #follower: FeedFollower;
  readonly #timeoutMs: () => number;
  #next: Round | null = null;
  #sending = false;
  #freshAtMs = Number.NEGATIVE_INFINITY;

  constructor(store: Store, clock: Clock, follower: FeedFollower, timeoutMs: () => number) {
    this.#store = store;
    this.#clock = clock;
    this.#follower = follower;
    this.#timeoutMs = timeoutMs;
  }

  /** Resolves once this process has seen every write acknowledged before the call; else `BackendUnavailableError`. */
  fresh(): Promise<void> {
    if (this.#next === null) {
      this.#next = newRound();
      if (!this.#sending) {
        this.#sending = true;
        // At the end of the present turn of the event loop: all requests that it brings share one.
        this.#clock.soon(() => void this.#sendRounds());
      }
    }
    return this.#next.promise;
  }

  /** Whether this process has ever been. */
  get wasFresh(): boolean {
    return this.#freshAtMs !== Number.NEGATIVE_INFINITY;
  }

  /** How old what this process has seen may be at most; it grows while the machine is suspended, too. */
  ageMs(): number {
    return this.#clock.bootMs() - this.#freshAtMs + this.#clock.bootTickMs;
  }

  /** The next round is sent when the answer of the last is here; its members need not have seen it yet. */
  async #sendRounds(): Promise<void> {
    for (let round = this.#next; round !== null; round = this.#next) {
      this.#next = null;
      await this.#send(round);
    }
    this.#sending = false;
  }

  #send(round: Round): Promise<void> {
    const sentAtMs = this.#clock.bootMs();
    return new Promise((answered) => {
      within(this.#clock, this.#timeoutMs(), "a read", async (signal) => {
        const revision = await this.#store.sync({ signal });
        answered();
        await this.#follower.reached(revision, signal);
      })
        .then(
          () => {
            this.#freshAtMs = Math.max(this.#freshAtMs, sentAtMs);
            round.resolve();
          },
          (error: unknown) => round.reject(asBackendError(error)),
        )
        .finally(answered);
    });
  }
}

function newRound(): Round {
  let resolve!: () => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  // A round whose members have all gone away must not count as an unhandled failure.
  promise.catch(() => {});
  return { promise, resolve, reject };
}
