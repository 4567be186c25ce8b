import type { Revision } from "@tenure/core";
import type { SchemaNames } from "./schema.js";
import type { SessionPool } from "./session-pool.js";

const INTERVAL_MS = 5;

/**
 * Notifies the feeds of all processes of a write. The notification is sent after the write, not in its transaction: there, each
 * commit would hold the lock that all NOTIFY of the server share, and a listener of another program that reads nothing could
 * make our writes fail. A feed that misses a notification finds the write when it polls.
 *
 * One notification is sent at a time, at intervals, for all writes since the last one: each is a commit of its own on the server.
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
      // No caller waits for the notification, and the next write sends another.
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
