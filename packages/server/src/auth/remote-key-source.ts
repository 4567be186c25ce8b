/**
 * A JWKS at a URL. It is fetched in the background: at intervals, and when a token names an unknown key, within the limits of
 * `KeyCache`. Keys that the URL has not confirmed for `maxAgeMs` are not used any more.
 */
import type { CancelTimer } from "@tenure/core";
import { fetchKeys, KeyCache, type KeyLoad, type KeySet } from "@tenure/fence/internal";
import { type KeySource, parseJwks } from "./key-source.js";
import type { AuthDeps } from "./deps.js";

export interface RemoteKeyOptions {
  readonly refreshMs: number;
  /** `Infinity`: fetched keys stay in use for as long as the URL does not answer. */
  readonly maxAgeMs: number;
}

const RETRY_MS = 30_000;

export class RemoteKeySource implements KeySource {
  /** The URL without its query, which may contain a secret. */
  readonly origin: string;
  readonly #options: RemoteKeyOptions;
  readonly #parts: AuthDeps;
  readonly #cache: KeyCache;
  #isFailing = false;
  #isClosed = false;
  #cancelNext: CancelTimer = () => {};

  private constructor(url: URL, options: RemoteKeyOptions, parts: AuthDeps) {
    const origin = redacted(url);
    this.origin = origin;
    this.#options = options;
    this.#parts = parts;
    this.#cache = new KeyCache({
      clock: parts.clock,
      load: () => fetchKeys(url, parts.clock),
      parse: (text) => parseJwks(text, origin),
      onLoad: (load) => this.#loaded(load),
    });
  }

  /** Does not wait for the keys: a service starts even if its identity provider is down. */
  static open(url: URL, options: RemoteKeyOptions, parts: AuthDeps): RemoteKeySource {
    const source = new RemoteKeySource(url, options, parts);
    void source.refresh();
    return source;
  }

  get keys(): KeySet | null {
    if (this.#cache.keys !== null && this.#cache.ageMs > this.#options.maxAgeMs) {
      this.#cache.clear();
      this.#parts.log.warn(
        `${this.origin} returned no usable keys for longer than --jwt-key-max-age: no token is accepted until it does`,
      );
    }
    return this.#cache.keys;
  }

  async refresh(): Promise<void> {
    if (!this.#isClosed) await this.#cache.refresh();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#cancelNext();
    await this.#cache.settled();
  }

  #loaded(load: KeyLoad): void {
    this.#report(load);
    this.#cancelNext();
    if (this.#isClosed) return;
    const { refreshMs } = this.#options;
    const nextMs = load.kind === "loaded" ? refreshMs : Math.min(RETRY_MS, refreshMs);
    this.#cancelNext = this.#parts.clock.after(nextMs, () => void this.refresh());
  }

  #report(load: KeyLoad): void {
    const { log, onRevoked } = this.#parts;
    if (load.kind === "loaded") {
      if (load.isChanged && load.hadKeys) log.info(`${this.origin} has new keys`);
      if (load.isChanged) onRevoked?.();
      if (this.#isFailing) log.info(`${this.origin} responds again`);
      this.#isFailing = false;
      return;
    }
    if (!this.#isFailing) {
      const consequence =
        this.#cache.keys === null
          ? "tokens cannot be verified until it does"
          : "the keys fetched earlier stay in use";
      const { message, cause } = load.error as Error;
      const why = cause instanceof Error ? `${message}: ${cause.message}` : message;
      log.warn(`${this.origin} returned no usable keys (${why}); ${consequence}`);
    }
    this.#isFailing = true;
  }
}

/** A URL may have a secret in its query. A URL with a user name or a password was refused before. */
export function redacted({ origin, pathname, search }: URL): string {
  return `${origin}${pathname}${search === "" ? "" : "?…"}`;
}
