import { BackendUnavailableError, InvalidRequestError } from "@tenure/core";
import type { MsgHdrs, NatsConnection } from "@nats-io/transport-node";
import type { NatsConnectionLike } from "./connection-like.js";
import { loadNats, type NatsLibrary } from "./own-connection.js";
import { Connection, type ConnectionSource, type NatsStatus } from "./connection.js";

/**
 * A connection that belongs to the program, which reconnects by itself. Each loss ends the current `Connection`, because the
 * order of publishes and answers ends with it. Until it is back, calls are refused, because the library would send them later.
 * Closing this leaves the program's connection open.
 */
export class SharedConnection implements ConnectionSource {
  readonly #library: NatsLibrary;
  readonly #connection: NatsConnection;
  readonly #listeners = new Set<(status: NatsStatus) => void>();
  readonly #changes: AsyncIterable<{ readonly type: string }> & { stop?(): void };
  #current: Connection | null = null;
  #status: NatsStatus = "disconnected";

  private constructor(library: NatsLibrary, connection: NatsConnection) {
    this.#library = library;
    this.#connection = connection;
    this.#changes = connection.status();
    // While the connection is being opened again, the server is unknown.
    if (connection.info !== undefined) this.#connected();
    void this.#follow();
    void connection.closed().then(() => this.#lost());
  }

  static async open(connection: NatsConnectionLike): Promise<SharedConnection> {
    const library = await loadNats();
    if (connection.isClosed()) throw new InvalidRequestError("connection", "is closed; open another");
    return new SharedConnection(library, connection as NatsConnection);
  }

  get status(): NatsStatus {
    return this.#status;
  }

  onStatus(listener: (status: NatsStatus) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  current(): Connection {
    if (this.#current !== null) return this.#current;
    throw new BackendUnavailableError(
      this.#connection.isClosed()
        ? "the connection to NATS that was given is closed; open a store with another"
        : "the connection to NATS that was given is lost, and connects again",
    );
  }

  headers(): MsgHdrs {
    return this.#library.headers();
  }

  async close(): Promise<void> {
    const current = this.#current;
    this.#current = null;
    this.#become("closed");
    this.#listeners.clear();
    this.#changes.stop?.();
    await current?.close();
  }

  async #follow(): Promise<void> {
    for await (const change of this.#changes) {
      if (this.#status === "closed") return;
      if (change.type === "disconnect") this.#lost();
      else if (change.type === "reconnect") this.#connected();
      else if (change.type === "error")
        this.#current?.complain((change as { readonly error?: Error }).error ?? new Error("NATS"));
    }
  }

  #connected(): void {
    this.#lost();
    this.#current = new Connection(this.#connection, { isShared: true });
    this.#become("connected");
  }

  #lost(): void {
    if (this.#status === "closed") return;
    void this.#current?.close();
    this.#current = null;
    this.#become("disconnected");
  }

  #become(status: NatsStatus): void {
    if (this.#status === status) return;
    this.#status = status;
    for (const listener of this.#listeners) listener(status);
  }
}
