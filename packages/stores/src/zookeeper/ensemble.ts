/**
 * A connection to one of the servers, made when it is asked for. Calls that find none share one attempt, which goes
 * round the servers once and ends in bounded time: nobody is queued for longer, and whoever calls next tries again. A
 * connection is never replaced behind the back of what was sent on it.
 */
import { BackendUnavailableError, type ClosedError } from "@tenure/core";
import type { ServerAddress } from "../server-url.js";
import { within } from "./abortable.js";
import { Connection } from "./connection.js";
import type { CheckedOptions } from "./options.js";
import { prepareTree } from "./prepare-tree.js";
import { Tree } from "./tree.js";
import type { VersionBook } from "./version-book.js";
import type { Access } from "./wire/protocol.js";
import { Session } from "./wire/session.js";

const LONGEST_ATTEMPT_MS = 4500;
/** With more servers than fit, the last are tried by the next attempt: it goes on where this one ended. */
const SHORTEST_TRY_MS = 1500;

export class Ensemble {
  readonly #options: CheckedOptions;
  readonly #tree: Tree;
  readonly #book: VersionBook;
  readonly #stop = new AbortController();
  #connection: Connection | null = null;
  #attempt: Promise<Connection> | null = null;
  /** The server to begin with; at first any, so that clients are spread over all of them. */
  #next: number;

  constructor(options: CheckedOptions, book: VersionBook) {
    this.#options = options;
    this.#tree = new Tree(options.path);
    this.#book = book;
    this.#next = Math.floor(Math.random() * options.servers.length);
  }

  /** The one that is there, if it works. */
  get present(): Connection | null {
    return this.#connection?.session.lost === null ? this.#connection : null;
  }

  /** Rejects with `BackendUnavailableError`, or with the reason of `stop`. */
  connection(): Promise<Connection> {
    if (this.present !== null) return Promise.resolve(this.present);
    this.#attempt ??= this.#connect().finally(() => (this.#attempt = null));
    return this.#attempt;
  }

  /** Makes what is missing of the path. */
  async prepare(): Promise<void> {
    const { session } = await this.connection();
    await prepareTree(session, this.#tree, this.#access);
  }

  /** Ends the feeds and every attempt to connect; what was sent may still be answered. */
  stop(reason: ClosedError): void {
    this.#stop.abort(reason);
    this.#connection?.endFeeds(reason);
  }

  /** After `stop`. */
  async close(): Promise<void> {
    await this.#attempt?.catch(() => undefined);
    await this.#connection?.session.close();
  }

  get #access(): Access {
    return this.#options.credentials === undefined ? "anyone" : "creator";
  }

  async #connect(): Promise<Connection> {
    const failures: Error[] = [];
    try {
      return await within(LONGEST_ATTEMPT_MS, this.#stop.signal, (signal) => this.#tryAll(signal, failures));
    } catch (cause) {
      this.#stop.signal.throwIfAborted();
      const reasons = failures.map(({ message }) => message.trim()).join("; ");
      throw new BackendUnavailableError(
        `no ZooKeeper server can be used (${reasons}); check that one runs and that the address is right`,
        { cause },
      );
    }
  }

  async #tryAll(signal: AbortSignal, failures: Error[]): Promise<Connection> {
    const { servers } = this.#options;
    const limitMs = Math.max(SHORTEST_TRY_MS, LONGEST_ATTEMPT_MS / servers.length);
    for (let i = 0; i < servers.length; i++) {
      signal.throwIfAborted();
      const server = servers[this.#next++ % servers.length] as ServerAddress;
      try {
        const session = await within(limitMs, signal, (limit) => Session.open(server, this.#options, limit));
        this.#connection = new Connection(session, this.#tree, this.#access, this.#book);
        return this.#connection;
      } catch (cause) {
        failures.push(named(server, cause));
      }
    }
    throw new AggregateError(failures, "none of the servers can be used");
  }
}

function named({ host, port }: ServerAddress, cause: unknown): Error {
  if (cause instanceof BackendUnavailableError) return cause;
  return new Error(`${host}:${port}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
}
