/**
 * The one stream of all groups. It begins before all events, so that the state of every group comes first; it comes back
 * by its cursor for as long as it takes.
 */
import { SseParser } from "../model/sse-parser.js";
import type { LeadershipEvent } from "../model/wire.js";
import { type Api, RefusedError } from "./api.js";

export type FeedStatus =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  | { readonly kind: "lost"; readonly sinceMs: number; readonly problem: string }
  /** The service wants to know who asks, or does not like the answer. */
  | { readonly kind: "refused"; readonly problem: string };

export interface LiveFeedParts {
  readonly api: Pick<Api, "stream">;
  readonly onEvents: (events: readonly LeadershipEvent[]) => void;
  readonly onStatus: (status: FeedStatus) => void;
  readonly nowMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** 0 to 1, so that many pages do not come back at once. */
  readonly random: () => number;
}

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 4000;
/** The service sends a comment every 15 s: after two missed ones the stream is dead, whatever the network says. */
export const SILENCE_MS = 35_000;

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

  /** Runs until `stop`, or until it is refused. */
  async run(): Promise<void> {
    for (let delayMs = FIRST_RETRY_MS; !this.#stopped;) {
      const parser = new SseParser();
      let problem = "the server ended the stream";
      try {
        await this.#follow(parser);
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
      delayMs = wasLive ? (parser.retryMs ?? FIRST_RETRY_MS) : Math.min(LAST_RETRY_MS, delayMs * 2);
      await this.#parts.sleep(delayMs * (0.5 + this.#parts.random() / 2));
    }
  }

  /** Something else was not answered, or not let in: try anew rather than wait for silence. */
  suspect(): void {
    if (this.#status.kind === "live") this.#connection.abort(new Error("the server does not answer"));
  }

  stop(): void {
    this.#stopped = true;
    this.#connection.abort(new Error("stopped"));
  }

  async #follow(parser: SseParser): Promise<void> {
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
        this.#take(parser, decoder.decode(value, { stream: true }));
      }
    } finally {
      connection.signal.removeEventListener("abort", cancel);
      cancel();
    }
  }

  #take(parser: SseParser, text: string): void {
    const messages = parser.push(text);
    if (messages.length === 0) return;
    this.#parts.onEvents(messages.map(({ data }) => JSON.parse(data) as LeadershipEvent));
    // Of many states only the last carries the cursor: cut off before it, the page begins where it began.
    for (const { id } of messages) this.#cursor = id ?? this.#cursor;
  }

  async #within<T>(work: Promise<T>): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const silence = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("the server has gone silent")), SILENCE_MS);
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
