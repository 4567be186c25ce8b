import { ClosedError, onAbort, unlessAborted } from "@tenure/core";
import type { Session } from "./session.js";

interface Waiter {
  readonly resolve: (session: Session) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * So many sessions at most, opened when they are needed. `pg` has a pool of its own; this one can be left while one
 * waits, fails all who wait when no server can be reached, and gives no session to anybody before its last query was
 * answered.
 */
export class SessionPool {
  readonly #connect: (signal: AbortSignal) => Promise<Session>;
  readonly #size: number;
  readonly #stop = new AbortController();
  readonly #idle: Session[] = [];
  #waiting: Waiter[] = [];
  /** Those in use, idle, or being opened. */
  #count = 0;
  #emptied = (): void => {};
  #closing: Promise<void> | null = null;

  constructor(size: number, connect: (signal: AbortSignal) => Promise<Session>) {
    this.#size = size;
    this.#connect = connect;
  }

  /** Rejects with the signal's reason, `ClosedError`, or why no session can be opened. */
  acquire(signal?: AbortSignal): Promise<Session> {
    if (this.#closing !== null) return Promise.reject(closed());
    for (let session = this.#idle.pop(); session !== undefined; session = this.#idle.pop()) {
      if (session.isUsable) return Promise.resolve(session);
    }
    return new Promise((resolve, reject) => {
      let stopListening = (): void => {};
      const waiter: Waiter = {
        resolve: (given) => {
          stopListening();
          resolve(given);
        },
        reject: (error) => {
          stopListening();
          reject(error);
        },
      };
      if (signal !== undefined) {
        stopListening = onAbort(signal, () => {
          this.#waiting = this.#waiting.filter((each) => each !== waiter);
          reject(signal.reason as Error);
        });
      }
      this.#waiting.push(waiter);
      this.#grow();
    });
  }

  /**
   * Sends something through a session that was acquired, and gives it back when that is answered. Whoever waits may
   * leave before, by the signal.
   */
  async run<T>(session: Session, send: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const answered = send().finally(() => this.release(session));
    const stopListening = signal === undefined ? undefined : onAbort(signal, () => session.abandon());
    return unlessAborted(signal, answered).finally(stopListening);
  }

  release(session: Session): void {
    // One that has ended leaves by itself.
    if (!session.isUsable) return;
    if (this.#closing !== null) return void session.end();
    const waiter = this.#waiting.shift();
    if (waiter === undefined) this.#idle.push(session);
    else waiter.resolve(session);
  }

  /** A session opened elsewhere. */
  add(session: Session): void {
    this.#count++;
    void session.ended.then(() => this.#forget(session));
    this.release(session);
  }

  /** Idempotent. Who waits is refused; what was sent is answered first, for which a session has its limit. */
  close(): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      this.#emptied = resolve;
      this.#stop.abort(closed());
      for (const { reject } of this.#waiting.splice(0)) reject(closed());
      for (const session of this.#idle.splice(0)) void session.end();
      if (this.#count === 0) resolve();
    });
    return this.#closing;
  }

  /** One session for each who waits, as far as there is room. */
  #grow(): void {
    if (this.#count >= this.#size || this.#waiting.length === 0 || this.#closing !== null) return;
    this.#count++;
    this.#connect(this.#stop.signal).then(
      (session) => {
        void session.ended.then(() => this.#forget(session));
        this.release(session);
      },
      (error: unknown) => {
        this.#leave();
        // Those that are there serve all. If there are none, the next attempt would fare no better, and everybody
        // would wait for one after the other.
        if (this.#count === 0) for (const { reject } of this.#waiting.splice(0)) reject(error);
      },
    );
  }

  #forget(session: Session): void {
    const index = this.#idle.indexOf(session);
    if (index >= 0) this.#idle.splice(index, 1);
    this.#leave();
    this.#grow();
  }

  #leave(): void {
    this.#count--;
    if (this.#count === 0 && this.#closing !== null) this.#emptied();
  }
}

function closed(): ClosedError {
  return new ClosedError("the store is closed");
}
