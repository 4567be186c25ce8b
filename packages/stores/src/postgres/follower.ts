import type { Entry, FeedSink, Revision } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";
import type { Connected } from "./connection.js";
import { unavailable } from "./failures.js";
import type { PostgresSession } from "./session.js";

export interface FollowerDeps {
  connect(signal: AbortSignal): Promise<Connected>;
  read(session: PostgresSession, since: Revision): Promise<Changes>;
  /** This process has seen `revision`. */
  learn(revision: Revision): void;
  readonly channel: string;
  /** Whether to LISTEN on the channel. By default where the connection is direct. */
  readonly listen: boolean | undefined;
  readonly pollMs: number | undefined;
}

export interface Changes {
  readonly entries: readonly Entry[];
  readonly revision: Revision;
}

/** With LISTEN, polling only makes up for lost wake-ups. */
const LISTENING_POLL_MS = 250;
/** Without LISTEN, all servers should still see a leader resign within 20 ms. */
const BLIND_POLL_MS = 10;

/**
 * Serves one feed over a connection of its own. Each item is one query, in one snapshot of the database: everything since
 * the last. The query is sent after a wake-up (by LISTEN, or by this process) and at intervals, and only while the consumer
 * waits for an item. So a consumer that reads late gets more in one item, and nothing accumulates.
 */
export class Follower {
  readonly #deps: FollowerDeps;
  #pollMs: number = BLIND_POLL_MS;
  #progress: Revision = 0;
  /** A wake-up came since the last query. */
  #isWoken = false;
  #endRest = (): void => {};

  constructor(deps: FollowerDeps) {
    this.#deps = deps;
  }

  /** A write up to `revision` is known. */
  wake(revision: Revision): void {
    if (revision <= this.#progress) return;
    this.#isWoken = true;
    this.#endRest();
  }

  /** Resolves after `signal` is aborted, when the connection is gone. Rejects if the feed breaks. */
  async run(sink: FeedSink, signal: AbortSignal): Promise<void> {
    const { session, isDirect } = await this.#deps.connect(signal);
    const stopListening = onAbort(signal, () => {
      this.#endRest();
      void session.end();
    });
    void session.ended.then(() => this.#endRest());
    try {
      signal.throwIfAborted();
      await this.#listen(session, isDirect);
      const { entries, revision } = await this.#read(session);
      sink.snapshot(entries, revision);
      while (!signal.aborted) await this.#readOn(session, sink, signal);
    } catch (error) {
      throw unavailable("the feed broke", error);
    } finally {
      stopListening();
      await session.end();
    }
  }

  async #readOn(session: PostgresSession, sink: FeedSink, signal: AbortSignal): Promise<void> {
    await sink.wanted();
    if (!signal.aborted) await this.#rest();
    if (signal.aborted) return;
    const before = this.#progress;
    const { entries, revision } = await this.#read(session);
    if (revision > before) sink.changes(entries, revision);
  }

  async #listen(session: PostgresSession, isDirect: boolean): Promise<void> {
    const { listen = isDirect, channel, pollMs } = this.#deps;
    this.#pollMs = pollMs ?? (listen ? LISTENING_POLL_MS : BLIND_POLL_MS);
    if (listen) await session.listen(channel, (payload) => this.wake(Number(payload)));
  }

  async #read(session: PostgresSession): Promise<Changes> {
    this.#isWoken = false;
    const changes = await this.#deps.read(session, this.#progress);
    // In this order: the wake-up that `learn` sends to all followers must not reach this one.
    this.#progress = changes.revision;
    this.#deps.learn(changes.revision);
    return changes;
  }

  /** Until a wake-up, the end of the feed or of the connection, or the next poll. */
  async #rest(): Promise<void> {
    if (this.#isWoken) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#pollMs);
      this.#endRest = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
