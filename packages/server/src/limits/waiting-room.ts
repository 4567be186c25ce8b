import { ServiceError } from "../service-error.js";

export type Waiting = "waiting campaigns" | "watches";

/** Bounds what a server holds open at once: past the bound a newcomer is refused, and nobody else suffers. */
export class WaitingRoom {
  readonly #most: Readonly<Record<Waiting, number>>;
  readonly #now: Record<Waiting, number> = { "waiting campaigns": 0, watches: 0 };

  constructor(most: Readonly<Record<Waiting, number>>) {
    this.#most = most;
  }

  /** Returns how to leave. */
  enter(what: Waiting): () => void {
    const most = this.#most[what];
    if (this.#now[what] >= most) {
      const message = `this server has ${most} ${what} open and takes no more; ask another, or later`;
      throw new ServiceError("TOO_MANY_WAITING", message, {}, { retryAfterSeconds: 1 });
    }
    this.#now[what]++;
    let inside = true;
    return () => {
      if (inside) this.#now[what]--;
      inside = false;
    };
  }

  count(what: Waiting): number {
    return this.#now[what];
  }
}
