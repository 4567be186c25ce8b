/**
 * The event stream of all groups. It starts before the first event, so that the server sends the state of every group
 * first. After a connection ends, the feed reconnects with its cursor until it is stopped.
 */
import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { LeadershipEvent } from "../model/wire.js";
import { type Api, RefusedError } from "./api.js";

export type FeedStatus =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  | { readonly kind: "lost"; readonly sinceMs: number; readonly problem: string }
  /** The server requires credentials, or rejected those that were sent. */
  | { readonly kind: "refused"; readonly problem: string };

export interface LiveFeedParts {
  readonly api: Pick<Api, "stream">;
  readonly onEvents: (events: readonly LeadershipEvent[]) => void;
  readonly onStatus: (status: FeedStatus) => void;
  readonly nowMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** 0 to 1: jitter, so that many pages do not reconnect at once. */
  readonly random: () => number;
}

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 4000;
/** The server sends a comment every 15 s: after two missed comments the connection is taken for dead. */
const SILENCE_MS = 35_000;

/** What one connection has received. */
interface Received {
  messages: EventSourceMessage[];
  /** The server's last `retry:` field. */
  retryMs: number | undefined;
}

export class LiveFeed {
  readonly #parts: LiveFeedParts;
  #cursor = "0";
  #status: FeedStatus = { kind: "connecting" };
  #connection = new AbortController();
  #stopped = false;

  constructor(parts: LiveFeedParts) {
    this.#parts = parts;
  }

  get cursor(): string {
    return this.#cursor;
  }

  /** Runs until `stop`, or until the server refuses the caller. */
  async run(): Promise<void> {
    for (let delayMs = FIRST_RETRY_MS; !this.#stopped;) {
      const received: Received = { messages: [], retryMs: undefined };
      let problem = "the server ended the stream";
      try {
        await this.#follow(received);
      } catch (error) {
        if (error instanceof RefusedError && error.status < 500 && error.status !== 429) {
          return this.#report({ kind: "refused", problem: error.message });
        }
        problem = (error as Error).message;
      }
      if (this.#stopped) return;
      const wasLive = this.#status.kind === "live";
      if (this.#status.kind !== "lost") {
        this.#report({ kind: "lost", sinceMs: this.#parts.nowMs(), problem });
      }
      delayMs = wasLive ? (received.retryMs ?? FIRST_RETRY_MS) : Math.min(LAST_RETRY_MS, delayMs * 2);
      await this.#parts.sleep(delayMs * (0.5 + this.#parts.random() / 2));
    }
  }

  /** Another request failed or was refused: reconnect now instead of waiting for `SILENCE_MS`. */
  suspect(): void {
    if (this.#status.kind === "live") this.#connection.abort(new Error("the server does not respond"));
  }

  stop(): void {
    this.#stopped = true;
    this.#connection.abort(new Error("stopped"));
  }

  async #follow(received: Received): Promise<void> {
    const parser = createParser({
      onEvent: (message) => received.messages.push(message),
      onRetry: (ms) => {
        received.retryMs = ms;
      },
    });
    const connection = (this.#connection = new AbortController());
    const body = await this.#parts.api.stream(this.#cursor, connection.signal);
    this.#report({ kind: "live" });
    const reader = body.getReader();
    const decoder = new TextDecoder();
    const cancel = (): void => void reader.cancel().catch(() => {});
    connection.signal.addEventListener("abort", cancel);
    try {
      for (;;) {
        const { done, value } = await this.#within(reader.read());
        connection.signal.throwIfAborted();
        if (done) return;
        parser.feed(decoder.decode(value, { stream: true }));
        this.#take(received);
      }
    } finally {
      connection.signal.removeEventListener("abort", cancel);
      cancel();
    }
  }

  #take(received: Received): void {
    const { messages } = received;
    if (messages.length === 0) return;
    received.messages = [];
    this.#parts.onEvents(messages.map(({ data }) => JSON.parse(data) as LeadershipEvent));
    // Of the first states only the last carries a cursor: a connection that ends before it starts from the old cursor.
    for (const { id } of messages) this.#cursor = id ?? this.#cursor;
  }

  async #within<T>(work: Promise<T>): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const silence = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`the server sent nothing for ${SILENCE_MS / 1000} s`)),
        SILENCE_MS,
      );
    });
    try {
      return await Promise.race([work, silence]);
    } finally {
      clearTimeout(timer);
    }
  }

  #report(status: FeedStatus): void {
    this.#status = status;
    this.#parts.onStatus(status);
  }
}
