import { onAbort } from "@tenure/core/internal";
import type { PostgresSession } from "./session.js";

interface Waiter {
  readonly resolve: (session: PostgresSession) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A limited number of sessions, opened when they are needed. `pg` has a pool of its own; in this one a caller can stop
 * waiting, all waiting callers fail when no server can be reached, and a session is never handed out before its last query
 * was answered.
 */
export class SessionPool {
  readonly #connect: (signal: AbortSignal) => Promise<PostgresSession>;
  readonly #size: number;
  readonly #stop = new AbortController();
  readonly #idle: PostgresSession[] = [];
  #waiting: Waiter[] = [];
  /** Sessions in use, idle, or being opened. */
  #count = 0;
  #emptied = (): void => {};
  #closing: Promise<void> | null = null;

  constructor(size: number, connect: (signal: AbortSignal) => Promise<PostgresSession>) {
    this.#size = size;
    this.#connect = connect;
  }

  /** Rejects with the signal's reason, after `close`, or with why no session can be opened. */
  acquire(signal?: AbortSignal): Promise<PostgresSession> {
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
      stopListening = onAbort(signal, () => {
        this.#waiting = this.#waiting.filter((each) => each !== waiter);
        reject(signal?.reason as Error);
      });
      this.#waiting.push(waiter);
      this.#grow();
    });
  }

  /**
   * Sends something through a session that was acquired, and releases it when that is answered. An abort only shortens the
   * time that the server has to answer.
   */
  run<T>(session: PostgresSession, send: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const stopListening = onAbort(signal, () => session.abandon());
    return send().finally(() => {
      stopListening();
      this.release(session);
    });
  }

  release(session: PostgresSession): void {
    // A session that has ended is removed by `#forget`.
    if (!session.isUsable) return;
    if (this.#closing !== null) return void session.end();
    const waiter = this.#waiting.shift();
    if (waiter === undefined) this.#idle.push(session);
    else waiter.resolve(session);
  }

  /** Adds a session that was opened elsewhere. */
  add(session: PostgresSession): void {
    this.#count++;
    void session.ended.then(() => this.#forget(session));
    this.release(session);
  }

  /** Idempotent. Refuses waiting callers and waits for queries in flight, which have a time limit. */
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

  /** Opens one session for each waiting caller, up to the limit. */
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
        // Open sessions serve all callers. If there are none, the next attempt would fail too, and callers would wait for
        // one attempt after the other.
        if (this.#count === 0) for (const { reject } of this.#waiting.splice(0)) reject(error);
      },
    );
  }

  #forget(session: PostgresSession): void {
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

function closed(): Error {
  return new Error("the store is being closed");
}
