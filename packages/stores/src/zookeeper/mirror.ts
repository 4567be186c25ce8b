/**
 * Follows the store on one connection, for all its feeds. One recursive watch tells which nodes have changed; they are
 * read, all that are waiting at once, and what can be shown of it goes to the feeds. A write of one's own needs no read:
 * its answer tells all. The mirror ends with its connection, and the feeds with it; the next one starts from a listing.
 */
import { BackendUnavailableError, FeedHub, type Revision } from "@tenure/core";
import type { Connection } from "./connection.js";
import { KnownState, type Observation } from "./known-state.js";
import { DELETED } from "./wire/protocol.js";
import type { SessionListener } from "./wire/session.js";

interface Waiting {
  readonly revision: Revision;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

export class Mirror implements SessionListener {
  readonly hub: FeedHub = new FeedHub(() => this.#state.snapshot());
  readonly #connection: Connection;
  readonly #state = new KnownState();
  #waiting: Waiting[] = [];
  #isReading = false;
  #failure: { readonly reason: unknown } | null = null;

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  static start(connection: Connection): Mirror {
    const mirror = new Mirror(connection);
    connection.session.listen(mirror);
    // One after the other on their way: what the listing lacks comes as an event.
    void Promise.all([connection.watch(), connection.list((keys) => mirror.#state.listed(keys))]).catch(
      (reason: unknown) => mirror.#fail(reason),
    );
    return mirror;
  }

  /** Resolves when the feeds have everything up to `revision`. */
  reached(revision: Revision): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== null) return reject(this.#failure.reason);
      if (this.#state.revision >= revision) return resolve();
      this.#waiting.push({ revision, resolve, reject });
    });
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

  /** Once for all that came together. */
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
    this.hub.publish(cut.entries, cut.revision);
    if (this.#waiting.length === 0) return;
    const reached = this.#waiting.filter(({ revision }) => revision <= cut.revision);
    this.#waiting = this.#waiting.filter(({ revision }) => revision > cut.revision);
    for (const { resolve } of reached) resolve();
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
      // What has changed meanwhile.
      this.idle();
    } catch (reason) {
      this.#fail(reason);
    }
  }

  /** The connection goes along: the next one begins with everything. */
  #fail(reason: unknown): void {
    if (this.#failure !== null) return;
    this.#failure = { reason };
    this.hub.close(reason);
    for (const { reject } of this.#waiting.splice(0)) reject(reason);
    this.#connection.session.destroy();
  }
}

function deleted(key: string): BackendUnavailableError {
  return new BackendUnavailableError(`somebody has deleted ${key} in ZooKeeper; the feed begins anew`);
}
