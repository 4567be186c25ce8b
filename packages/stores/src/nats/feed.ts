import type { CallOptions, FeedItem } from "@tenure/core";
import { FollowingController } from "./following-controller.js";

type Result = IteratorResult<FeedItem, undefined>;
type Open = (signal: AbortSignal) => Promise<AsyncIterable<FeedItem>>;

const DONE = { done: true, value: undefined } as const;

/**
 * A feed that is opened at its first `next()`, which takes a round trip. Like those of a `FeedHub` it may be left while
 * it waits, which an async generator does not allow.
 */
export class OpeningFeed implements AsyncIterator<FeedItem, undefined> {
  readonly #open: Open;
  readonly #end: FollowingController;
  #inner: Promise<AsyncIterator<FeedItem>> | null = null;
  #isLeft = false;

  constructor(open: Open, { signal }: CallOptions) {
    this.#open = open;
    this.#end = new FollowingController(signal);
  }

  async next(): Promise<Result> {
    if (this.#isLeft) return DONE;
    try {
      this.#inner ??= this.#start();
      const inner = await this.#inner;
      return (await inner.next()) as Result;
    } catch (error) {
      this.#end.release();
      if (this.#isLeft) return DONE;
      this.#isLeft = true;
      throw error;
    }
  }

  async return(): Promise<Result> {
    this.#isLeft = true;
    this.#end.release();
    const inner = this.#inner;
    if (inner === null) return DONE;
    // Ends the opening, if it is not over; a feed that is open is left in the ordinary way.
    const opened = inner.then((feed) => feed.return?.()).catch(() => undefined);
    this.#end.abort();
    await opened;
    return DONE;
  }

  async #start(): Promise<AsyncIterator<FeedItem>> {
    const { signal } = this.#end;
    signal.throwIfAborted();
    const feed = await this.#open(signal);
    return feed[Symbol.asyncIterator]();
  }
}
