/**
 * Follows the store on one connection, for all its feeds. One recursive watch reports which nodes have changed; they are
 * read, all that are waiting in one request, and the state that can be shown goes to the feeds. A write of this store needs
 * no read: its answer contains the new state. The mirror and its feeds end with the connection; the next mirror starts from a
 * listing.
 */
import { BackendUnavailableError, type FeedSink, type Revision } from "@tenure/core";
import { FeedHub } from "@tenure/core/internal";
import { RevisionWaiters } from "../revision-waiters.js";
import type { Connection } from "./connection.js";
import { KnownState, type Observation } from "./known-state.js";
import { DELETED } from "./wire/protocol.js";
import type { SessionListener } from "./wire/session.js";

export class Mirror implements SessionListener {
  readonly #hub = new FeedHub(() => this.#state.snapshot());
  readonly #connection: Connection;
  readonly #state = new KnownState();
  readonly #waiters = new RevisionWaiters();
  #isReading = false;
  #failure: { readonly reason: unknown } | null = null;

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  static start(connection: Connection): Mirror {
    const mirror = new Mirror(connection);
    connection.session.listen(mirror);
    // Sent in this order: a key that the listing lacks is reported by the watch.
    void Promise.all([connection.watch(), connection.list((keys) => mirror.#state.listed(keys))]).catch(
      (reason: unknown) => mirror.#fail(reason),
    );
    return mirror;
  }

  /** Serves a feed until `signal` is aborted. To be called once a revision was reached. */
  join(sink: FeedSink, signal: AbortSignal): void {
    if (this.#failure !== null) throw this.#failure.reason;
    this.#hub.join(sink, signal);
  }

  /** Resolves when the feeds have everything up to `revision`. */
  reached(revision: Revision): Promise<void> {
    return this.#waiters.wait(revision);
  }

  observed(key: string, seen: Observation): void {
    this.#state.observed(key, seen);
  }

  event(kind: number, path: string): void {
    const key = this.#connection.tree.key(path);
    if (key === null) return;
    if (kind === DELETED) this.#fail(deleted(key));
    else this.#state.changed(key);
  }

  answered(zxid: number): void {
    this.#state.answered(zxid);
  }

  /** Called once after all messages that arrived together. */
  idle(): void {
    if (this.#failure !== null) return;
    this.#show();
    void this.#readChanges();
  }

  lost(reason: BackendUnavailableError): void {
    this.#fail(reason);
  }

  #show(): void {
    const cut = this.#state.cut();
    if (cut === null) return;
    this.#hub.publish(cut.entries, cut.revision);
    this.#waiters.reach(cut.revision);
  }

  async #readChanges(): Promise<void> {
    if (this.#isReading) return;
    const keys = this.#state.toRead().filter((key) => !this.#connection.isWriting(key));
    if (keys.length === 0) return;
    this.#isReading = true;
    try {
      const entries = await this.#connection.read(keys);
      const missing = entries.indexOf(null);
      if (missing >= 0) throw deleted(keys[missing] as string);
      this.#isReading = false;
      // Nodes may have changed meanwhile.
      this.idle();
    } catch (reason) {
      this.#fail(reason);
    }
  }

  /** Ends the connection too: the next one begins with a listing. */
  #fail(reason: unknown): void {
    if (this.#failure !== null) return;
    this.#failure = { reason };
    this.#hub.fail(reason);
    this.#waiters.fail(reason);
    this.#connection.session.destroy();
  }
}

function deleted(key: string): BackendUnavailableError {
  return new BackendUnavailableError(`${key} was deleted in ZooKeeper by another client; open another feed`);
}
