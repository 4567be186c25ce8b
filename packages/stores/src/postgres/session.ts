import { onAbort } from "@tenure/core";
import type { Socket } from "node:net";
import type { Client, QueryArrayResult } from "pg";
import type { ServerAddress } from "../server-url.js";

/** Columns as the server wrote them: the client is made to leave them alone. */
export type Row = readonly (string | null)[];

export interface Answer {
  readonly rows: readonly Row[];
  /** What the server warned of meanwhile; `null` if of nothing. */
  readonly warning: Error | null;
}

/** No server that works is silent for so long, and no longer may a feed wait for one that does not. */
const ANSWER_LIMIT_MS = 5000;
/** For an answer that nobody waits for any more. Longer than the server lets a writer wait for its turn. */
const ABANDONED_LIMIT_MS = 1500;
/** After that a firewall may have forgotten the connection, and no write should be the first to notice. */
const IDLE_LIMIT_MS = 30_000;
const FAREWELL_LIMIT_MS = 1000;
const NO_WARNING = "00000";

/**
 * One connection, one query at a time. When an answer does not come, or a query fails in whatever way, it is not used
 * any more: only a connection whose last query was answered is known to be at rest. Nothing is ever sent a second time,
 * neither here nor by `pg`.
 */
export class Session {
  readonly server: ServerAddress;
  /** Resolves when the connection is gone, whoever ended it. */
  readonly ended: Promise<void>;
  readonly #client: Client;
  #isBusy = false;
  #failure: Error | null = null;

  private constructor(client: Client, server: ServerAddress) {
    this.#client = client;
    this.server = server;
    client.on("error", (error) => (this.#failure ??= error));
    this.ended = new Promise((resolve) => {
      client.on("end", () => {
        this.#failure ??= new Error("the connection was ended");
        resolve();
      });
    });
  }

  /** Rejects with what went wrong, or the signal's reason; nothing is left open then. */
  static async open(client: Client, server: ServerAddress, signal: AbortSignal): Promise<Session> {
    const session = new Session(client, server);
    const stopListening = onAbort(signal, () => session.destroy(signal.reason as Error));
    try {
      signal.throwIfAborted();
      await client.connect();
      signal.throwIfAborted();
    } catch (error) {
      session.destroy(error as Error);
      throw signal.aborted ? (signal.reason as Error) : error;
    } finally {
      stopListening();
    }
    session.#socket.on("timeout", () => session.#onSilence());
    session.#socket.setTimeout(IDLE_LIMIT_MS);
    return session;
  }

  get isUsable(): boolean {
    return this.#failure === null;
  }

  /** As the server told it when the connection was made; a pooler makes one up. */
  get processId(): number {
    return (this.#client as unknown as { readonly processID: number }).processID;
  }

  /** Sent before this returns, if the session is usable. */
  async query(text: string, values?: unknown[]): Promise<Answer> {
    let warning: Error | null = null;
    const client = this.#client;
    const onNotice = (notice: {
      readonly code: string | undefined;
      readonly message: string | undefined;
    }) => {
      if (notice.code !== NO_WARNING)
        warning ??= Object.assign(new Error(notice.message), { code: notice.code });
    };
    const result = await this.#watched(() => {
      client.on("notice", onNotice);
      return client.query<(string | null)[]>({ text, rowMode: "array", ...(values && { values }) });
    }).finally(() => client.off("notice", onNotice));
    return { rows: result.rows, warning };
  }

  /** Several statements, whose answers do not matter. */
  async execute(text: string): Promise<void> {
    await this.#watched(() => this.#client.query(text) as unknown as Promise<QueryArrayResult>);
  }

  /** From now on `onMessage` is called with what is sent on the channel. */
  async listen(channel: string, onMessage: (payload: string) => void): Promise<void> {
    this.#client.on("notification", ({ payload }) => onMessage(payload ?? ""));
    await this.execute(`LISTEN ${channel}`);
  }

  /** Nobody waits for the present answer any more: it may still come, but not for long. */
  abandon(): void {
    if (this.#isBusy) this.#socket.setTimeout(ABANDONED_LIMIT_MS);
  }

  /** Takes leave of the server. */
  async end(): Promise<void> {
    this.#failure ??= new Error("the connection was ended");
    const timer = setTimeout(() => this.destroy(), FAREWELL_LIMIT_MS);
    await this.#client.end();
    clearTimeout(timer);
  }

  /** What was sent may still be carried out. */
  destroy(reason: Error = new Error("the connection was cut")): void {
    this.#failure ??= reason;
    this.#socket.destroy();
  }

  get #socket(): Socket {
    return this.#client.connection.stream as Socket;
  }

  async #watched<T>(send: () => Promise<T>): Promise<T> {
    if (this.#failure !== null) throw this.#failure;
    this.#isBusy = true;
    this.#socket.setTimeout(ANSWER_LIMIT_MS);
    try {
      return await send();
    } catch (error) {
      this.destroy(error as Error);
      throw this.#failure ?? error;
    } finally {
      this.#isBusy = false;
      this.#socket.setTimeout(IDLE_LIMIT_MS);
    }
  }

  #onSilence(): void {
    if (this.#isBusy) this.destroy(new Error("the server did not answer in time"));
    else void this.end();
  }
}
