import type { Revision } from "@tenure/core";

interface Waiter {
  readonly revision: Revision;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** Callers that wait until a mirror has reached a revision. */
export class RevisionWaiters {
  #waiters: Waiter[] = [];
  #reached: Revision = 0;
  #failure: { readonly reason: unknown } | null = null;

  /** Resolves when `revision` has been reached. Rejects with the reason of `fail`. */
  wait(revision: Revision): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== null) return reject(this.#failure.reason);
      if (this.#reached >= revision) return resolve();
      this.#waiters.push({ revision, resolve, reject });
    });
  }

  reach(revision: Revision): void {
    this.#reached = revision;
    if (this.#waiters.length === 0) return;
    const done = this.#waiters.filter((waiter) => waiter.revision <= revision);
    this.#waiters = this.#waiters.filter((waiter) => waiter.revision > revision);
    for (const { resolve } of done) resolve();
  }

  fail(reason: unknown): void {
    this.#failure = { reason };
    for (const { reject } of this.#waiters.splice(0)) reject(reason);
  }
}
