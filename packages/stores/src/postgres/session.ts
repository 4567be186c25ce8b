import { onAbort } from "@tenure/core/internal";
import type { Socket } from "node:net";
import type { Client, ClientBase, Notification, PoolClient, QueryArrayResult } from "pg";
import type { ServerAddress } from "../server-url.js";

/** Columns as the server wrote them: the client is made to leave them alone. */
export type Row = readonly (string | null)[];

export interface Answer {
  readonly rows: readonly Row[];
  /** What the server warned of meanwhile; `null` if of nothing. */
  readonly warning: Error | null;
}

/** Time limit of an answer. A healthy server answers sooner, and a feed must not wait longer for one that is not healthy. */
const ANSWER_LIMIT_MS = 5000;
/** Time limit of an answer whose caller has gone. Longer than the server lets a writer wait for its turn. */
const ABANDONED_LIMIT_MS = 1500;
/** After that a firewall may have forgotten the connection, and no write should be the first to notice. */
const IDLE_LIMIT_MS = 30_000;
const FAREWELL_LIMIT_MS = 1000;
const NO_WARNING = "00000";
/** Columns are left as text. */
const TYPES = { getTypeParser: () => (text: string) => text };

/** How a session parts with its connection: one of its own is closed, one of a pool goes back. */
interface Owner {
  end(): Promise<void>;
  /** The connection must not be used any more, by anybody. */
  destroy(): void;
}

/**
 * One connection, one query at a time. When an answer does not come, or a query fails in whatever way, it is not used
 * any more: only a connection whose last query was answered is known to be at rest. Nothing is ever sent a second time,
 * neither here nor by `pg`.
 */
export class PostgresSession {
  readonly server: ServerAddress;
  /** Resolves when the connection is gone, whichever side ended it. */
  readonly ended: Promise<void>;
  readonly #client: ClientBase;
  readonly #owner: Owner;
  #isBusy = false;
  #isListening = false;
  #failure: Error | null = null;
  #resolveEnded = (): void => {};
  readonly #onError = (error: Error): void => {
    this.#failure ??= error;
  };
  readonly #onEnd = (): void => {
    this.#failure ??= new Error("the connection was ended");
    this.#owner.destroy();
    this.#resolveEnded();
  };
  readonly #onTimeout = (): void => this.#onSilence();
  #onNotification = (_notification: Notification): void => {};

  private constructor(client: ClientBase, server: ServerAddress, owner: (session: PostgresSession) => Owner) {
    this.#client = client;
    this.server = server;
    this.#owner = owner(this);
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    client.on("error", this.#onError).on("end", this.#onEnd);
  }

  /** Rejects with what went wrong, or the signal's reason; nothing is left open then. */
  static async open(client: Client, server: ServerAddress, signal: AbortSignal): Promise<PostgresSession> {
    const session = new PostgresSession(client, server, () => ({
      end: () => client.end(),
      destroy: () => {},
    }));
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
    session.#watchSilence();
    return session;
  }

  /** On a connection of a pool, which gets it back: as it was, or, where that is not known, to be closed. */
  static borrow(client: PoolClient, server: ServerAddress): PostgresSession {
    let isReturned = false;
    const giveBack = (isToBeClosed: boolean): void => {
      if (!isReturned) client.release(isToBeClosed);
      isReturned = true;
    };
    const session = new PostgresSession(client, server, (borrower) => ({
      end: async () => {
        const isClean = !borrower.#isBusy && !borrower.#isListening;
        if (!isReturned) borrower.#leave(isClean);
        giveBack(!isClean);
      },
      destroy: () => giveBack(true),
    }));
    session.#watchSilence();
    return session;
  }

  get isUsable(): boolean {
    return this.#failure === null;
  }

  /** As the server reported it when the connection was opened; a pooler invents one. */
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
      return client.query<(string | null)[]>({
        text,
        rowMode: "array",
        types: TYPES,
        ...(values && { values }),
      });
    }).finally(() => client.off("notice", onNotice));
    return { rows: result.rows, warning };
  }

  /** Several statements, whose answers do not matter. */
  async execute(text: string): Promise<void> {
    await this.#watched(() => this.#client.query(text) as unknown as Promise<QueryArrayResult>);
  }

  /** From now on `onMessage` is called with what is sent on the channel. */
  async listen(channel: string, onMessage: (payload: string) => void): Promise<void> {
    this.#isListening = true;
    this.#onNotification = ({ payload }) => onMessage(payload ?? "");
    this.#client.on("notification", this.#onNotification);
    await this.execute(`LISTEN ${channel}`);
  }

  /** The caller of the present query has gone: its answer may still arrive, within a shorter time limit. */
  abandon(): void {
    if (this.#isBusy) this.#socket.setTimeout(ABANDONED_LIMIT_MS);
  }

  /** Takes leave of the server. */
  async end(): Promise<void> {
    this.#failure ??= new Error("the connection was ended");
    const timer = setTimeout(() => this.destroy(), FAREWELL_LIMIT_MS);
    await this.#owner.end();
    clearTimeout(timer);
  }

  /** What was sent may still be carried out. */
  destroy(reason: Error = new Error("the connection was cut")): void {
    this.#failure ??= reason;
    this.#socket.destroy();
    this.#owner.destroy();
  }

  get #socket(): Socket {
    return (this.#client as Client).connection.stream as Socket;
  }

  #watchSilence(): void {
    this.#socket.on("timeout", this.#onTimeout);
    this.#socket.setTimeout(IDLE_LIMIT_MS);
  }

  /** Takes everything of this session off a connection that goes on. */
  #leave(isClean: boolean): void {
    this.#socket.off("timeout", this.#onTimeout);
    this.#socket.setTimeout(0);
    // One that is closed instead may still fail, and then somebody has to hear of it.
    if (isClean) this.#client.off("error", this.#onError);
    this.#client.off("end", this.#onEnd);
    this.#client.off("notification", this.#onNotification);
    this.#resolveEnded();
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
