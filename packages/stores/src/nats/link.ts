import { randomUUID } from "node:crypto";
import { BackendUnavailableError } from "@tenure/core";
import type { Msg, MsgHdrs, NatsConnection, Subscription } from "@nats-io/transport-node";

/** Whoever waits for the answers to what it sent. */
export interface Addressee {
  answered(reply: Msg, index: number): void;
  /** The link was lost: no answer will come any more. Called once. */
  lost(cause: Error): void;
}

export interface Parcel {
  readonly subject: string;
  readonly payload: string;
  readonly headers?: MsgHdrs | undefined;
}

export interface AskOptions {
  readonly limitMs: number;
  /** Asked again after so long without an answer, and again, for what does no harm twice. */
  readonly againMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface Waiting {
  readonly addressee: Addressee;
  readonly index: number;
}

/**
 * One connection, from its beginning to its end. It never connects again: the library would send what was handed to it
 * meanwhile once it is back, a write whose sender has long been told that it is uncertain. What is handed to a link that
 * is lost is never sent, and `Connection` makes another.
 *
 * All answers come to one subscription, told apart by the last token of their subject.
 */
export class Link {
  readonly ended: Promise<Error>;
  /** Of the server at the other end; others of its cluster may have another. */
  readonly version: string;
  readonly #connection: NatsConnection;
  readonly #inbox = `_INBOX.${randomUUID()}`;
  readonly #waiting = new Map<string, Waiting>();
  #serial = 0;
  #lost: Error | null = null;
  #complaint: Error | null = null;

  constructor(connection: NatsConnection) {
    this.#connection = connection;
    this.version = connection.info?.version ?? "";
    connection.subscribe(`${this.#inbox}.*`, { callback: (error, reply) => this.#dispatch(error, reply) });
    this.ended = connection.closed().then((error) => this.#end(error));
    void this.#watchStatus();
  }

  /** Whether this very server, not only another of its cluster, has JetStream. */
  get hasJetStream(): boolean {
    return this.#connection.info?.jetstream === true;
  }

  get isClustered(): boolean {
    return this.#connection.info?.cluster !== undefined;
  }

  /** Bytes of headers and payload together. */
  get largestMessage(): number {
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

  /** Sends what needs no answer, if it can. */
  tell(subject: string): void {
    if (!this.#connection.isClosed()) this.#connection.publish(subject);
  }

  listen(subject: string, callback: (message: Msg) => void): Subscription {
    if (this.#lost !== null) throw this.#lost;
    return this.#connection.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) callback(message);
      },
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
        signal?.removeEventListener("abort", abort);
        for (const token of tokens) this.forget(token);
      };
      const fail = (error: Error): void => {
        done();
        reject(error);
      };
      const abort = (): void => fail(signal?.reason as Error);
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
      signal?.addEventListener("abort", abort, { once: true });
      send();
    });
  }

  /** No answer came in time. A server that does not permit something tells so apart from any answer. */
  silence(limitMs: number): BackendUnavailableError {
    const why = this.#complaint === null ? "" : `; it has said: ${this.#complaint.message}`;
    return new BackendUnavailableError(`NATS gave no answer within ${limitMs} ms${why}`, {
      cause: this.#complaint,
    });
  }

  async close(): Promise<void> {
    await this.#connection.close();
    await this.ended;
  }

  #dispatch(error: Error | null, reply: Msg): void {
    if (error !== null) return;
    const waiting = this.#waiting.get(reply.subject.slice(this.#inbox.length + 1));
    waiting?.addressee.answered(reply, waiting.index);
  }

  async #watchStatus(): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type === "error") this.#complaint = status.error;
    }
  }

  #end(error: Error | void): Error {
    const cause = error ?? this.#complaint ?? undefined;
    const lost = new BackendUnavailableError("the connection to NATS was lost", { cause });
    this.#lost = lost;
    const addressees = new Set([...this.#waiting.values()].map(({ addressee }) => addressee));
    this.#waiting.clear();
    for (const addressee of addressees) addressee.lost(lost);
    return lost;
  }
}
