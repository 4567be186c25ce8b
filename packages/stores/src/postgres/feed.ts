import { type Entry, type FeedItem, type Revision, onAbort, unlessAborted } from "@tenure/core";
import type { Connected } from "./connection.js";
import { unavailable } from "./failures.js";
import type { Session } from "./session.js";

/** What a feed needs of its store. */
export interface FeedSource {
  /** Throws if no feed may be opened. From now on the feed is told of changes. */
  join(feed: PostgresFeed): void;
  leave(feed: PostgresFeed): void;
  connect(signal: AbortSignal): Promise<Connected>;
  read(session: Session, since: Revision): Promise<Changes>;
  /** This process has been shown that revision. */
  learn(revision: Revision): void;
  readonly channel: string;
  /** Whether to LISTEN on the channel; if it is not said, where the connection is direct. */
  readonly listen: boolean | undefined;
  readonly pollMs: number | undefined;
}

export interface Changes {
  readonly entries: readonly Entry[];
  readonly revision: Revision;
}

/** Only wake-ups that were lost have to be made up for. */
const TOLD_POLL_MS = 250;
/** There are none, and a leader that resigns should be seen by all within 20 ms. */
const UNTOLD_POLL_MS = 10;

const DONE = { done: true, value: undefined } as const;
const LEFT = new Error("the reader has left");

/**
 * One consumer, with a connection of its own. Each item is one query, in one snapshot: everything since the last. It is
 * asked when a change is told (by LISTEN, or by this very process) and at intervals, and only while somebody waits for
 * it. So whoever reads late gets more at once, and nothing piles up.
 */
export class PostgresFeed implements AsyncIterator<FeedItem, undefined> {
  readonly #source: FeedSource;
  readonly #signal: AbortSignal | undefined;
  readonly #stop = new AbortController();
  #session: Session | null = null;
  #pollMs: number = UNTOLD_POLL_MS;
  #progress: Revision | null = null;
  /** Something was told since the last look. */
  #isTold = false;
  #ring = (): void => {};
  #isOver = false;
  /** The last call of `next`; they are answered one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  /** What `next` waits for; it may outlast it. */
  #work: Promise<unknown> = Promise.resolve();
  #stopListening = (): void => {};

  constructor(source: FeedSource, signal: AbortSignal | undefined) {
    this.#source = source;
    this.#signal = signal;
  }

  next(): Promise<IteratorResult<FeedItem, undefined>> {
    const result = this.#last.then(() => this.#next());
    this.#last = result.catch(() => {});
    return result;
  }

  async return(): Promise<IteratorResult<FeedItem, undefined>> {
    await this.stop(LEFT);
    return DONE;
  }

  /** Something was written, up to this revision. */
  wake(revision: Revision): void {
    if (this.#progress !== null && revision <= this.#progress) return;
    this.#isTold = true;
    this.#ring();
  }

  /** Whoever waits is given the reason, or else whoever asks next. Resolves when the connection is gone. */
  async stop(reason: unknown): Promise<void> {
    this.#stop.abort(reason);
    this.#stopListening();
    this.#ring();
    await this.#session?.end();
    await Promise.all([this.#last, this.#work]);
    await this.#session?.end();
    this.#source.leave(this);
  }

  async #next(): Promise<IteratorResult<FeedItem, undefined>> {
    if (this.#isOver) return DONE;
    const { signal } = this.#stop;
    try {
      signal.throwIfAborted();
      if (this.#progress === null) this.#join();
      const work = this.#read(signal);
      this.#work = work.catch(() => {});
      return { done: false, value: await unlessAborted(signal, work) };
    } catch (error) {
      this.#isOver = true;
      const reason: unknown = signal.aborted ? signal.reason : error;
      void this.stop(reason);
      if (reason === LEFT) return DONE;
      throw reason;
    }
  }

  #join(): void {
    this.#signal?.throwIfAborted();
    this.#source.join(this);
    if (this.#signal === undefined) return;
    this.#stopListening = onAbort(this.#signal, () => void this.stop(this.#signal?.reason));
  }

  async #read(signal: AbortSignal): Promise<FeedItem> {
    try {
      if (this.#progress === null) {
        await this.#connect(signal);
        return { kind: "snapshot", ...(await this.#look(0)) };
      }
      for (;;) {
        const progress = this.#progress;
        await this.#rest();
        signal.throwIfAborted();
        const changes = await this.#look(progress);
        if (changes.revision > progress) return { kind: "changes", ...changes };
      }
    } catch (error) {
      throw unavailable("the feed broke", error);
    }
  }

  async #connect(signal: AbortSignal): Promise<void> {
    const { session, isDirect } = await this.#source.connect(signal);
    this.#session = session;
    signal.throwIfAborted();
    void session.ended.then(() => this.#ring());
    const isTold = this.#source.listen ?? isDirect;
    this.#pollMs = this.#source.pollMs ?? (isTold ? TOLD_POLL_MS : UNTOLD_POLL_MS);
    if (isTold) await session.listen(this.#source.channel, (payload) => this.wake(Number(payload)));
  }

  async #look(since: Revision): Promise<Changes> {
    this.#isTold = false;
    const changes = await this.#source.read(this.#session as Session, since);
    this.#progress = changes.revision;
    this.#source.learn(changes.revision);
    return changes;
  }

  /** Until something is told, or it is time to look. */
  async #rest(): Promise<void> {
    if (this.#isTold) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#pollMs);
      this.#ring = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
