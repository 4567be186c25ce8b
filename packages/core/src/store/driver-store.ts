import { ClosedError } from "../errors.js";
import { onAbort } from "../async/on-abort.js";
import { checkBatch } from "./check-batch.js";
import { NothingWritten, type StoreDriver, type WriteCall } from "./driver.js";
import { Feed } from "./feed.js";
import type {
  CallOptions,
  CasOp,
  CasOutcome,
  FeedItem,
  Revision,
  Store,
  StoreFeatures,
  StoreLimits,
} from "./store.js";

/** A store over a driver. The store owns the driver: closing the store closes it. */
export function storeOf(driver: StoreDriver): Store {
  return new DriverStore(driver);
}

/**
 * The runtime of every store: the part of the `Store` contract that does not depend on the engine. See `StoreDriver` for the
 * part that does.
 */
export class DriverStore implements Store {
  readonly name: string;
  readonly features: StoreFeatures;
  readonly limits: StoreLimits;
  readonly #driver: StoreDriver;
  readonly #feeds = new Set<Feed>();
  /** Calls and feeds that the driver is working on, whether or not a caller still waits. */
  #inFlight = 0;
  #onIdle = (): void => {};
  #closing: Promise<void> | null = null;

  constructor(driver: StoreDriver) {
    this.name = driver.name;
    this.features = driver.features;
    this.limits = driver.limits;
    this.#driver = driver;
  }

  async compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    this.#admit(options?.signal);
    checkBatch(batch, this.limits);
    return batch.length === 0 ? [] : this.#write(batch, options?.signal);
  }

  async sync(options?: CallOptions): Promise<Revision> {
    const signal = options?.signal;
    this.#admit(signal);
    return this.#answer(this.#driver.head(signal), signal, (cause) => {
      throw this.#closing === null ? cause : closed();
    });
  }

  feed(options?: CallOptions): AsyncIterable<FeedItem> {
    return {
      [Symbol.asyncIterator]: () =>
        new Feed({
          follow: (feed, signal) => this.#follow(feed, signal),
          onEnd: (feed) => this.#feeds.delete(feed),
          signal: options?.signal,
        }),
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #admit(signal?: AbortSignal): void {
    if (this.#closing !== null) throw closed();
    signal?.throwIfAborted();
  }

  #write(batch: readonly CasOp[], signal: AbortSignal | undefined): Promise<CasOutcome[]> {
    const call = new Call(batch.length, signal);
    return this.#answer(this.#driver.write(batch, call), signal, (cause) => {
      if (cause instanceof NothingWritten) throw cause.reason;
      if (call.hasBegun) return call.outcomes(cause);
      throw this.#closing === null ? cause : closed();
    });
  }

  /** The result of `work`. `lose` decides on the answer if `work` fails, or if the signal is aborted before. */
  #answer<T>(work: Promise<T>, signal: AbortSignal | undefined, lose: (cause: unknown) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      let stopListening: (() => void) | null = null;
      let isSettled = false;
      const settle = (): void => {
        isSettled = true;
        stopListening?.();
      };
      const fail = (cause: unknown): void => {
        try {
          resolve(lose(cause));
        } catch (error) {
          reject(error);
        }
      };
      this.#track(work).then(
        (value) => {
          settle();
          resolve(value);
        },
        (cause: unknown) => {
          settle();
          fail(cause);
        },
      );
      if (signal === undefined) return;
      // Not at once: for an answer from memory a listener would cost several times as much as the rest of the call.
      queueMicrotask(() => {
        if (isSettled) return;
        if (signal.aborted) fail(signal.reason);
        else stopListening = onAbort(signal, () => fail(signal.reason));
      });
    });
  }

  async #follow(feed: Feed, signal: AbortSignal): Promise<void> {
    this.#admit();
    this.#feeds.add(feed);
    await this.#track(this.#driver.follow(feed, signal));
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#inFlight++;
    const done = (): void => {
      if (--this.#inFlight === 0) this.#onIdle();
    };
    work.then(done, done);
    return work;
  }

  #close(): Promise<void> {
    const reason = closed();
    for (const feed of this.#feeds) feed.fail(reason);
    const idle = new Promise<void>((resolve) => {
      if (this.#inFlight === 0) resolve();
      else this.#onIdle = resolve;
    });
    return this.#driver.close(idle);
  }
}

class Call implements WriteCall {
  readonly signal: AbortSignal | undefined;
  hasBegun = false;
  readonly #size: number;
  #known: Map<number, CasOutcome> | null = null;

  constructor(size: number, signal: AbortSignal | undefined) {
    this.#size = size;
    this.signal = signal;
  }

  begin(): void {
    this.signal?.throwIfAborted();
    this.hasBegun = true;
  }

  answered(index: number, outcome: CasOutcome): void {
    this.#known ??= new Map();
    this.#known.set(index, outcome);
  }

  outcomes(cause: unknown): CasOutcome[] {
    const uncertain: CasOutcome = { kind: "uncertain", cause };
    return Array.from({ length: this.#size }, (_, i) => this.#known?.get(i) ?? uncertain);
  }
}

function closed(): ClosedError {
  return new ClosedError("the store is closed");
}
