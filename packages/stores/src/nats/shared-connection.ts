import { BackendUnavailableError, InvalidRequestError } from "@tenure/core";
import type { MsgHdrs, NatsConnection } from "@nats-io/transport-node";
import type { NatsConnectionLike } from "./connection-like.js";
import { loadNats, type NatsLibrary } from "./connection.js";
import { Link, type LinkSource, type NatsStatus } from "./link.js";

/**
 * A connection that belongs to the program. It connects again by itself; each time it is lost the present link ends, since the
 * order of publishes and answers ends with it, and what is asked meanwhile is refused, since the library would send it later.
 * Closing this leaves the connection open.
 */
export class SharedConnection implements LinkSource {
  readonly #library: NatsLibrary;
  readonly #connection: NatsConnection;
  readonly #listeners = new Set<(status: NatsStatus) => void>();
  readonly #changes: AsyncIterable<{ readonly type: string }> & { stop?(): void };
  #link: Link | null = null;
  #status: NatsStatus = "disconnected";

  private constructor(library: NatsLibrary, connection: NatsConnection) {
    this.#library = library;
    this.#connection = connection;
    this.#changes = connection.status();
    // While it is being connected again the server is not known.
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

  link(): Link {
    if (this.#link !== null) return this.#link;
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
    const link = this.#link;
    this.#link = null;
    this.#become("closed");
    this.#listeners.clear();
    this.#changes.stop?.();
    await link?.close();
  }

  async #follow(): Promise<void> {
    for await (const change of this.#changes) {
      if (this.#status === "closed") return;
      if (change.type === "disconnect") this.#lost();
      else if (change.type === "reconnect") this.#connected();
      else if (change.type === "error")
        this.#link?.complain((change as { readonly error?: Error }).error ?? new Error("NATS"));
    }
  }

  #connected(): void {
    this.#lost();
    this.#link = new Link(this.#connection, { isShared: true });
    this.#become("connected");
  }

  #lost(): void {
    if (this.#status === "closed") return;
    void this.#link?.close();
    this.#link = null;
    this.#become("disconnected");
  }

  #become(status: NatsStatus): void {
    if (this.#status === status) return;
    this.#status = status;
    for (const listener of this.#listeners) listener(status);
  }
}
