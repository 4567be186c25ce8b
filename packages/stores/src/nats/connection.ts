import { randomUUID } from "node:crypto";
import { BackendUnavailableError } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";
import type { Msg, MsgHdrs, NatsConnection, Subscription } from "@nats-io/transport-node";

/** Receives the answers to the messages that it sent. */
export interface Addressee {
  answered(reply: Msg, index: number): void;
  /** The connection was lost: no further answer will come. Called once. */
  lost(cause: Error): void;
}

export interface Parcel {
  readonly subject: string;
  readonly payload: string;
  readonly headers?: MsgHdrs | undefined;
}

export interface AskOptions {
  readonly limitMs: number;
  /** Interval at which an unanswered request is sent again. Only for requests that are harmless when repeated. */
  readonly againMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface PendingAnswer {
  readonly addressee: Addressee;
  readonly index: number;
}

/** Where connections come from: one at a time, and another one when it is lost. */
export interface ConnectionSource {
  readonly status: NatsStatus;
  /** Calls `listener` at each change from now on, until the returned function is called. */
  onStatus(listener: (status: NatsStatus) => void): () => void;
  /** Throws `BackendUnavailableError` while there is none: nothing is queued. */
  current(): Connection;
  headers(): MsgHdrs;
  close(): Promise<void>;
}

/** `disconnected`: the connection is being opened again in the background, without a time limit. */
export type NatsStatus = "connected" | "disconnected" | "closed";

/**
 * One connection to a server, from its start to its loss; of a connection that belongs to the program (`isShared`), one period
 * between two losses. It never reconnects: the library would then send what it was given meanwhile, such as a write that was
 * reported as uncertain long ago. Messages given to a lost connection are never sent; its source opens another one.
 *
 * All answers arrive at one subscription and are distinguished by the last token of their subject.
 */
export class Connection {
  readonly ended: Promise<Error>;
  /** Version of this server. Other servers of its cluster may have another one. */
  readonly version: string;
  readonly #connection: NatsConnection;
  readonly #inbox = `_INBOX.${randomUUID()}`;
  readonly #waiting = new Map<string, PendingAnswer>();
  #serial = 0;
  #lost: Error | null = null;
  #complaint: Error | null = null;
  readonly #isShared: boolean;
  readonly #subscriptions = new Set<Subscription>();
  #lose: (error: Error | void) => void = () => {};

  constructor(connection: NatsConnection, { isShared = false }: { readonly isShared?: boolean } = {}) {
    this.#connection = connection;
    this.#isShared = isShared;
    this.version = connection.info?.version ?? "";
    this.#subscribe(`${this.#inbox}.*`, (error, reply) => this.#dispatch(error, reply));
    const lost = new Promise<Error | void>((resolve) => {
      this.#lose = resolve;
    });
    this.ended = (isShared ? lost : connection.closed()).then((error) => this.#end(error));
    if (!isShared) void this.#watchStatus();
  }

  /** Whether this server itself has JetStream, not only another one of its cluster. */
  get hasJetStream(): boolean {
    return this.#connection.info?.jetstream === true;
  }

  get isClustered(): boolean {
    return this.#connection.info?.cluster !== undefined;
  }

  /** Bytes of headers and payload together. */
  get maxMessageBytes(): number {
    return this.#connection.info?.max_payload ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Sends, and hands every answer on to `addressee`, more than one if more come, until `forget`. Throws if it was not
   * sent; what is sent in one turn goes out together.
   */
  send({ subject, payload, headers }: Parcel, addressee: Addressee, index: number): string {
    if (this.#lost !== null) throw this.#lost;
    const token = (++this.#serial).toString(36);
    const reply = `${this.#inbox}.${token}`;
    try {
      this.#connection.publish(subject, payload, headers === undefined ? { reply } : { reply, headers });
    } catch (cause) {
      throw new BackendUnavailableError("NATS cannot be sent to", { cause });
    }
    this.#waiting.set(token, { addressee, index });
    return token;
  }

  forget(token: string): void {
    this.#waiting.delete(token);
  }

  /** Sends a message that needs no answer, if the connection is open. */
  tell(subject: string): void {
    if (!this.#connection.isClosed()) this.#connection.publish(subject);
  }

  listen(subject: string, callback: (message: Msg) => void): Subscription {
    if (this.#lost !== null) throw this.#lost;
    return this.#subscribe(subject, (error, message) => {
      if (error === null) callback(message);
    });
  }

  /** The first answer. Rejects with the signal's reason, or with `BackendUnavailableError`. */
  ask(parcel: Parcel, { limitMs, againMs, signal }: AskOptions): Promise<Msg> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      const tokens: string[] = [];
      const done = (): void => {
        clearTimeout(timer);
        clearInterval(again);
        stopListening();
        for (const token of tokens) this.forget(token);
      };
      const fail = (error: Error): void => {
        done();
        reject(error);
      };
      const stopListening = onAbort(signal, () => fail(signal?.reason as Error));
      const answered = (reply: Msg): void => {
        done();
        resolve(reply);
      };
      const send = (): void => {
        try {
          tokens.push(this.send(parcel, { answered, lost: fail }, 0));
        } catch (error) {
          fail(error as Error);
        }
      };
      const timer = setTimeout(() => fail(this.silence(limitMs)), limitMs);
      const again = againMs === undefined ? undefined : setInterval(send, againMs);
      send();
    });
  }

  /** The error for a missing answer. A server reports a missing permission apart from any answer. */
  silence(limitMs: number): BackendUnavailableError {
    const why = this.#complaint === null ? "" : `; it has said: ${this.#complaint.message}`;
    return new BackendUnavailableError(`NATS gave no answer within ${limitMs} ms${why}`, {
      cause: this.#complaint,
    });
  }

  async close(): Promise<void> {
    if (this.#isShared) this.#lose();
    else await this.#connection.close();
    await this.ended;
  }

  /** The server reported an error that is not the answer to a request. */
  complain(error: Error): void {
    this.#complaint = error;
  }

  #subscribe(subject: string, callback: (error: Error | null, message: Msg) => void): Subscription {
    const subscription = this.#connection.subscribe(subject, { callback });
    this.#subscriptions.add(subscription);
    void subscription.closed.then(() => this.#subscriptions.delete(subscription));
    return subscription;
  }

  #dispatch(error: Error | null, reply: Msg): void {
    if (error !== null) return;
    const waiting = this.#waiting.get(reply.subject.slice(this.#inbox.length + 1));
    waiting?.addressee.answered(reply, waiting.index);
  }

  async #watchStatus(): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type === "error") this.complain(status.error);
    }
  }

  #end(error: Error | void): Error {
    const cause = error ?? this.#complaint ?? undefined;
    const lost = new BackendUnavailableError("the connection to NATS was lost", { cause });
    this.#lost = lost;
    const addressees = new Set([...this.#waiting.values()].map(({ addressee }) => addressee));
    this.#waiting.clear();
    // The program's connection goes on, but no subscription of this object may.
    if (this.#isShared && !this.#connection.isClosed())
      for (const each of this.#subscriptions) each.unsubscribe();
    for (const addressee of addressees) addressee.lost(lost);
    return lost;
  }
}
