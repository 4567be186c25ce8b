import { createParser } from "eventsource-parser";

/** What a `text/event-stream` says: an event at its blank line, or a `retry:` field. Comments and events without data are left out. */
export type SseMessage =
  | { readonly kind: "event"; readonly id: string | null; readonly data: string }
  | { readonly kind: "retry"; readonly retryMs: number };

/** Limit of one unfinished event. Events of the service have a few hundred characters; a broken server must not fill the memory. */
export const MAX_EVENT_CHARACTERS: number = 1024 * 1024;
/** A longer `retry:` is ignored. */
const MAX_RETRY_MS = 999_999_999;

/** Parses Server-Sent Events from texts that may be cut anywhere. */
export class SseParser {
  #messages: SseMessage[] = [];
  #isTooLarge = false;
  readonly #parser = createParser({
    maxBufferSize: MAX_EVENT_CHARACTERS,
    onEvent: ({ id, data }) => this.#messages.push({ kind: "event", id: id ?? null, data }),
    onRetry: (retryMs) => {
      if (retryMs <= MAX_RETRY_MS) this.#messages.push({ kind: "retry", retryMs });
    },
    // The other errors are of single fields, which the standard says to ignore.
    onError: ({ type }) => {
      if (type === "max-buffer-size-exceeded") this.#isTooLarge = true;
    },
  });

  /** Returns the messages that `text` completes. Throws if an event is larger than `MAX_EVENT_CHARACTERS`. */
  push(text: string): readonly SseMessage[] {
    this.#parser.feed(text);
    if (this.#isTooLarge) throw new Error(`an event is larger than ${MAX_EVENT_CHARACTERS} characters`);
    const messages = this.#messages;
    this.#messages = [];
    return messages;
  }
}
