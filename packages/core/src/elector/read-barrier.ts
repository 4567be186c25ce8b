/**
 * Linearizable reads at memory speed: one `sync` of the store serves every request that arrived before it was sent. A
 * later request takes part in the next `sync`; reusing one that is under way could show it an old state.
 *
 * Each request has its own time limit, counted from the sending of its round. A round without an answer delays the next
 * round at most for the shortest time limit of the requests that wait for it. A round that succeeds also serves all
 * requests of the rounds before it.
 */
import type { CancelTimer, Clock } from "../clock.js";
import { asBackendError } from "../errors.js";
import type { Store } from "../store/store.js";
import { MAX_CALL_MS } from "./call-limit.js";
import type { FeedFollower } from "./feed-follower.js";
import { type CallWaiter, sharedCall } from "./shared-call.js";

/** All requests of a round that have the same limit. */
class Reader implements CallWaiter {
  readonly limitMs: number;
  readonly promise: Promise<void>;
  resolve!: () => void;
  reject!: (error: unknown) => void;

  constructor(limitMs: number) {
    this.limitMs = limitMs;
    this.promise = new Promise<void>((yes, no) => {
      this.resolve = yes;
      this.reject = no;
    });
    // A caller that has left must not cause an unhandled rejection.
    this.promise.catch(() => {});
  }

  expire(error: unknown): void {
    this.reject(error);
  }
}

class Round {
  readonly readers = new Map<number, Reader>();
  shortestMs = Number.POSITIVE_INFINITY;
  longestMs = 0;
  sentAtMs = 0;

  join(limitMs: number): Promise<void> {
    let reader = this.readers.get(limitMs);
    if (reader === undefined) {
      reader = new Reader(limitMs);
      this.readers.set(limitMs, reader);
      this.shortestMs = Math.min(this.shortestMs, limitMs);
      this.longestMs = Math.max(this.longestMs, limitMs);
    }
    return reader.promise;
  }
}

export class ReadBarrier {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #follower: FeedFollower;
  /** Not sent yet. */
  #next: Round | null = null;
  #scheduled = false;
  /** The last one sent, while its sync has no answer. */
  #unanswered: Round | null = null;
  /** Sent and not over, oldest first. */
  readonly #sent = new Set<Round>();
  #cancelTimer: CancelTimer | null = null;
  #timerMs = Number.POSITIVE_INFINITY;
  #passedAtMs = Number.NEGATIVE_INFINITY;

  constructor(store: Store, clock: Clock, follower: FeedFollower) {
    this.#store = store;
    this.#clock = clock;
    this.#follower = follower;
  }

  /**
   * Resolves once this process has seen every write acknowledged before the call; otherwise rejects with
   * `BackendUnavailableError`. The default limit is for requests that no lease waits for.
   */
  wait(limitMs: number = MAX_CALL_MS): Promise<void> {
    if (this.#next === null) this.#next = new Round();
    const passed = this.#next.join(limitMs);
    this.#schedule();
    return passed;
  }

  /** Whether a request has passed the barrier at least once. */
  get wasPassed(): boolean {
    return this.#passedAtMs !== Number.NEGATIVE_INFINITY;
  }

  /** The maximum age of what this process has seen. It also grows while the machine is suspended. */
  ageMs(): number {
    return this.#clock.bootMs() - this.#passedAtMs + this.#clock.bootTickMs;
  }

  /** The next round is sent when the last one was answered; the requests of the last one need not have been served yet. */
  #schedule(): void {
    if (this.#next === null || this.#scheduled) return;
    if (this.#unanswered !== null) {
      const { sentAtMs, longestMs } = this.#unanswered;
      if (this.#next.shortestMs >= longestMs) return;
      const atMs = sentAtMs + this.#next.shortestMs;
      if (atMs > this.#clock.monotonicMs()) return this.#wakeAt(atMs);
    }
    this.#scheduled = true;
    // At the end of the present turn of the event loop: all requests that it brings share one.
    this.#clock.soon(() => {
      this.#scheduled = false;
      const round = this.#next;
      this.#next = null;
      if (round !== null) void this.#send(round);
    });
  }

  #wakeAt(timeMs: number): void {
    if (timeMs >= this.#timerMs) return;
    this.#cancelTimer?.();
    this.#timerMs = timeMs;
    this.#cancelTimer = this.#clock.after(timeMs - this.#clock.monotonicMs(), () => {
      this.#timerMs = Number.POSITIVE_INFINITY;
      this.#schedule();
    });
  }

  async #send(round: Round): Promise<void> {
    const sentAtMs = this.#clock.bootMs();
    round.sentAtMs = this.#clock.monotonicMs();
    this.#unanswered = round;
    this.#sent.add(round);
    const answered = () => {
      if (this.#unanswered !== round) return;
      this.#unanswered = null;
      this.#schedule();
    };
    try {
      await sharedCall(this.#clock, "a read", [...round.readers.values()], async (signal) => {
        const revision = await this.#store.sync({ signal });
        answered();
        await this.#follower.reached(revision, signal);
      });
      this.#passedAtMs = Math.max(this.#passedAtMs, sentAtMs);
      this.#serve(round);
    } catch (error) {
      for (const reader of round.readers.values()) reader.reject(asBackendError(error));
    }
    this.#sent.delete(round);
    answered();
  }

  /** Requests of earlier rounds also arrived before this one was sent. */
  #serve(round: Round): void {
    for (const each of this.#sent) {
      for (const reader of each.readers.values()) reader.resolve();
      if (each === round) return;
    }
  }
}
