import {
  BackendUnavailableError,
  type CallOptions,
  type CasOp,
  type CasOutcome,
  type Clock,
  ClosedError,
  type FeedItem,
  type Revision,
  sleep,
  type Store,
  type StoreFeatures,
  type StoreLimits,
  systemClock,
  TenureError,
} from "@tenure/core";
import { Backoff } from "./backoff.js";
import type { StoreOpener } from "./store-opener.js";

/** What became of an attempt to open a store. */
export type StoreState =
  | { readonly kind: "opened" }
  /** `isRefused`: the engine answers and does not accept the URL, the credentials or its own version. */
  | { readonly kind: "unreachable"; readonly reason: TenureError; readonly isRefused: boolean };

export interface DeferredStoreOptions {
  /**
   * Times the attempts.
   *
   * @defaultValue the machine's clock
   */
  readonly clock?: Clock | undefined;
  /** Called after each failed attempt, and once when the store is open; not if the first attempt succeeds. */
  readonly onState?: ((state: StoreState) => void) | undefined;
}

const BACKOFF = { firstMs: 100, maxMs: 2000 };
/** An engine that refuses the credentials is asked seldom: it may lock the account out. */
const REFUSED_RETRY_MS = 30_000;

/**
 * A store whose engine does not answer yet. It opens the engine in the background, at growing distances. Until then each
 * call is refused at once with `BackendUnavailableError`, which names the reason; from then on calls go to the engine.
 */
export class DeferredStore implements Store {
  readonly name: string;
  readonly features: StoreFeatures;
  readonly limits: StoreLimits;
  readonly #driver: StoreOpener;
  readonly #clock: Clock;
  readonly #onState: (state: StoreState) => void;
  readonly #stop = new AbortController();
  readonly #opening: Promise<void>;
  #failure: TenureError;
  #store: Store | null = null;
  #closing: Promise<void> | null = null;

  private constructor(
    driver: StoreOpener,
    { clock = systemClock, onState = () => {} }: DeferredStoreOptions,
    failure: BackendUnavailableError,
  ) {
    this.name = driver.name;
    this.features = driver.features;
    this.limits = driver.limits;
    this.#driver = driver;
    this.#clock = clock;
    this.#onState = onState;
    this.#failure = failure;
    this.#opening = this.#open();
  }

  /**
   * The engine's own store if it can be opened at once. Rejects as `driver.open` does, except that an engine which cannot
   * be reached is opened later.
   */
  static async open(driver: StoreOpener, options: DeferredStoreOptions = {}): Promise<Store> {
    try {
      return await driver.open({});
    } catch (error) {
      if (error instanceof BackendUnavailableError) return new DeferredStore(driver, options, error);
      throw error;
    }
  }

  /**
   * The store once its engine can be reached. Attempts are repeated for `limitMs`; then it rejects with
   * `BackendUnavailableError`. Rejects at once where another attempt would not help: `InvalidRequestError`.
   */
  static async openWithin(
    driver: StoreOpener,
    limitMs: number,
    { clock = systemClock, onState = () => {} }: DeferredStoreOptions = {},
  ): Promise<Store> {
    if (limitMs === 0) return driver.open({});
    let hear = (_state: StoreState): void => {};
    const refused = new Promise<TenureError | null>((resolve) => {
      hear = (state) => {
        if (state.kind === "opened") resolve(null);
        else if (state.isRefused) resolve(state.reason);
      };
    });
    const over = new AbortController();
    const startedAtMs = clock.monotonicMs();
    const store = await DeferredStore.open(driver, {
      clock,
      onState: (state) => {
        hear(state);
        onState(state);
      },
    });
    if (!(store instanceof DeferredStore)) return store;
    const leftMs = Math.max(0, limitMs - (clock.monotonicMs() - startedAtMs));
    const late = sleep(clock, leftMs, over.signal).then(() => store.#failureAfter(limitMs));
    late.catch(() => {});
    const failure = await Promise.race([refused, late]);
    over.abort();
    if (failure === null) return store;
    await store.close();
    throw failure;
  }

  async compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    return this.#admit(options).compareAndSet(batch, options);
  }

  async sync(options?: CallOptions): Promise<Revision> {
    return this.#admit(options).sync(options);
  }

  feed(options?: CallOptions): AsyncIterable<FeedItem> {
    return {
      [Symbol.asyncIterator]: () => {
        // Each feed is the engine's own, or fails: none changes from one to the other.
        if (this.#store !== null) return this.#store.feed(options)[Symbol.asyncIterator]();
        return { next: async () => this.#refuse(options) };
      },
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#stop.abort(new ClosedError("the store is closed"));
    await this.#opening;
    await this.#store?.close();
  }

  #failureAfter(limitMs: number): TenureError {
    const message = `the ${this.name} store could not be opened within ${limitMs} ms: ${this.#failure.message}`;
    return new BackendUnavailableError(message, { cause: this.#failure });
  }

  #admit(options?: CallOptions): Store {
    return this.#store ?? this.#refuse(options);
  }

  #refuse(options?: CallOptions): never {
    this.#stop.signal.throwIfAborted();
    options?.signal?.throwIfAborted();
    const message = `the ${this.name} store is not open yet and is tried again: ${this.#failure.message}`;
    throw new BackendUnavailableError(message, { cause: this.#failure });
  }

  async #open(): Promise<void> {
    const { signal } = this.#stop;
    const backoff = new Backoff(this.#clock, BACKOFF);
    while (this.#store === null) {
      const isRefused = !(this.#failure instanceof BackendUnavailableError);
      this.#onState({ kind: "unreachable", reason: this.#failure, isRefused });
      backoff.failed();
      const waitMs = isRefused ? REFUSED_RETRY_MS : backoff.leftMs();
      await sleep(this.#clock, waitMs, signal).catch(() => {});
      if (signal.aborted) return;
      try {
        this.#store = await this.#driver.open({ signal });
      } catch (error) {
        if (signal.aborted) return;
        this.#failure = asTenureError(error);
      }
    }
    if (!signal.aborted) this.#onState({ kind: "opened" });
  }
}

function asTenureError(error: unknown): TenureError {
  if (error instanceof TenureError) return error;
  return new BackendUnavailableError(error instanceof Error ? error.message : String(error), {
    cause: error,
  });
}
