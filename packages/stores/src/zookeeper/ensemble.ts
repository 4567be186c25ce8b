/**
 * A connection to one of the servers, opened by the first call that needs it. Calls that find none share one attempt, which
 * tries each server once and ends in bounded time; the next call starts another attempt. A connection is never replaced
 * while requests on it wait for their answers.
 */
import { BackendUnavailableError, systemClock } from "@tenure/core";
import { within } from "@tenure/core/internal";
import type { ServerAddress } from "../server-url.js";
import { Connection } from "./connection.js";
import type { CheckedOptions } from "./options.js";
import { prepareTree } from "./prepare-tree.js";
import { Tree } from "./tree.js";
import type { VersionBook } from "./version-book.js";
import type { Access } from "./wire/protocol.js";
import { ZookeeperSession } from "./wire/session.js";

const MAX_ATTEMPT_MS = 4500;
/** If not all servers can be tried in time, the next attempt goes on with those that were left out. */
const MIN_TRY_MS = 1500;

export class Ensemble {
  readonly #options: CheckedOptions;
  readonly #tree: Tree;
  readonly #book: VersionBook;
  readonly #stop = new AbortController();
  #connection: Connection | null = null;
  #attempt: Promise<Connection> | null = null;
  /** The server to try first. Drawn at random, so that clients are spread over all servers. */
  #next: number;

  constructor(options: CheckedOptions, book: VersionBook) {
    this.#options = options;
    this.#tree = new Tree(options.path);
    this.#book = book;
    this.#next = Math.floor(Math.random() * options.servers.length);
  }

  /** The open connection, if there is one. */
  get present(): Connection | null {
    return this.#connection?.session.lost === null ? this.#connection : null;
  }

  /** Rejects with `BackendUnavailableError`, and after `stop` with an error that says so. */
  connection(): Promise<Connection> {
    if (this.present !== null) return Promise.resolve(this.present);
    this.#attempt ??= this.#connect().finally(() => (this.#attempt = null));
    return this.#attempt;
  }

  /** Creates the missing nodes of the path. */
  async prepare(): Promise<void> {
    const { session } = await this.connection();
    await prepareTree(session, this.#tree, this.#access);
  }

  /** Ends the attempts to connect. Requests in flight may still be answered. */
  stop(): void {
    this.#stop.abort(new Error("the store is being closed"));
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
      const limit = { limitMs: MAX_ATTEMPT_MS, signal: this.#stop.signal };
      return await within(systemClock, limit, (signal) => this.#tryAll(signal, failures));
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
    const limitMs = Math.max(MIN_TRY_MS, MAX_ATTEMPT_MS / servers.length);
    const late = (): Error => new Error(`no answer within ${limitMs} ms`);
    for (let i = 0; i < servers.length; i++) {
      signal.throwIfAborted();
      const server = servers[this.#next++ % servers.length] as ServerAddress;
      try {
        const session = await within(systemClock, { limitMs, signal, late }, (limit) =>
          ZookeeperSession.open(server, this.#options, limit),
        );
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
