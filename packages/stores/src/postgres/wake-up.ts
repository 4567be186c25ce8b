import type { Revision } from "@tenure/core";
import type { SchemaNames } from "./schema.js";
import type { SessionPool } from "./session-pool.js";

const INTERVAL_MS = 5;

/**
 * Tells the feeds of all processes that something was written. It is sent after the write, not in its transaction: there,
 * each commit would hold a lock that is one for all NOTIFY of the whole server, and somebody else's listener that reads
 * nothing could make our writes fail. What is lost here, a feed makes up for by looking at intervals.
 *
 * One at a time, and at intervals: what is written meanwhile is told together. For the server each is a commit of its own.
 */
export class WakeUp {
  readonly #pool: SessionPool;
  readonly #channel: string;
  #wanted: Revision = 0;
  #isSending = false;

  constructor(pool: SessionPool, { channel }: SchemaNames) {
    this.#pool = pool;
    this.#channel = channel;
  }

  send(revision: Revision): void {
    this.#wanted = Math.max(this.#wanted, revision);
    if (this.#isSending) return;
    this.#isSending = true;
    this.#sendAll()
      // Nobody waits for it, and the next write tries again.
      .catch(() => {})
      .finally(() => (this.#isSending = false));
  }

  async #sendAll(): Promise<void> {
    for (let sent = 0; sent < this.#wanted;) {
      const session = await this.#pool.acquire();
      const revision = this.#wanted;
      await this.#pool.run(session, () =>
        session.query("SELECT pg_notify($1, $2)", [this.#channel, String(revision)]),
      );
      sent = revision;
      await new Promise((resolve) => {
        setTimeout(resolve, INTERVAL_MS).unref();
      });
    }
  }
}
