import type { CallOptions, FeedItem } from "@tenure/core";
import { whenAborted } from "./abortable.js";

const DONE = { done: true, value: undefined } as const;

/**
 * A feed that has to be opened first, which takes a while: it can be left or aborted meanwhile. `open` gets a signal for
 * both, and comes back with the feed as it is once open.
 */
export class OpeningFeed implements AsyncIterator<FeedItem, undefined> {
  readonly #open: (signal: AbortSignal) => Promise<AsyncIterable<FeedItem>>;
  readonly #signal: AbortSignal | undefined;
  readonly #stop = new AbortController();
  #stopListening: () => void = () => undefined;
  #state: "new" | "open" | "done" = "new";
  #opening: Promise<AsyncIterator<FeedItem, undefined>> | null = null;
  #opened: AsyncIterator<FeedItem, undefined> | null = null;

  constructor(open: (signal: AbortSignal) => Promise<AsyncIterable<FeedItem>>, { signal }: CallOptions = {}) {
    this.#open = open;
    this.#signal = signal;
  }

  async next(): Promise<IteratorResult<FeedItem, undefined>> {
    if (this.#state === "done") return DONE;
    if (this.#state === "new") this.#start();
    try {
      this.#opening ??= this.#openOnce();
      const opened = await this.#opening;
      // It may have been left meanwhile: then nobody else would end it.
      return this.#isDone() ? DONE : await opened.next();
    } catch (error) {
      if (this.#isDone()) return DONE;
      this.#end();
      throw error;
    }
  }

  async return(): Promise<IteratorResult<FeedItem, undefined>> {
    this.#end();
    // In this order: whoever waits for the next item is told that there is none, not that it was aborted.
    const left = this.#opened?.return?.();
    this.#stop.abort();
    await left;
    return DONE;
  }

  #start(): void {
    this.#state = "open";
    const signal = this.#signal;
    if (signal !== undefined)
      this.#stopListening = whenAborted(signal, () => this.#stop.abort(signal.reason));
  }

  async #openOnce(): Promise<AsyncIterator<FeedItem, undefined>> {
    this.#opened = (await this.#open(this.#stop.signal))[Symbol.asyncIterator]();
    return this.#opened;
  }

  #end(): void {
    this.#state = "done";
    this.#stopListening();
  }

  #isDone(): boolean {
    return this.#state === "done";
  }
}
