/**
 * A JWKS at a URL. It is fetched in the background, every ten minutes and when a token names a key that is not known, but
 * never more often than the cooldown allows, whatever tokens strangers send.
 *
 * Keys once fetched stay in use while the URL does not answer: that an identity provider is down must not end every
 * leadership. So a key that was withdrawn is trusted until the URL has answered without it.
 */
import type { CancelTimer } from "@tenure/core";
import { createRemoteJWKSet, type RemoteJWKSet } from "jose";
import { type KeySet, type KeySource, parseJwks } from "./key-source.js";
import type { Parts } from "./parts.js";

const REFRESH_MS = 600_000;
const RETRY_MS = 30_000;
const COOLDOWN_MS = 10_000;
const FAILED_COOLDOWN_MS = 1_000;
/** A request may wait for this; its lease runs meanwhile. */
const TIMEOUT_MS = 2_000;

export class RemoteKeySource implements KeySource {
  readonly origin: string;
  readonly #remote: RemoteJWKSet;
  readonly #parts: Parts;
  #keys: KeySet | null = null;
  #text = "";
  #fetching: Promise<void> | null = null;
  #quietUntilMs = Number.NEGATIVE_INFINITY;
  #isFailing = false;
  #isClosed = false;
  #cancelNext: CancelTimer = () => {};

  private constructor(url: URL, parts: Parts) {
    this.origin = url.href;
    this.#parts = parts;
    // When to fetch is decided here, on the injected clock; jose does the fetching.
    this.#remote = createRemoteJWKSet(url, { timeoutDuration: TIMEOUT_MS });
  }

  /** Does not wait for the keys: a service whose identity provider is down starts all the same. */
  static open(url: URL, parts: Parts): RemoteKeySource {
    const source = new RemoteKeySource(url, parts);
    void source.refresh();
    return source;
  }

  get keys(): KeySet | null {
    return this.#keys;
  }

  async refresh(): Promise<void> {
    if (this.#isClosed) return;
    if (this.#fetching === null && this.#parts.clock.monotonicMs() < this.#quietUntilMs) return;
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = null;
    });
    await this.#fetching;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#cancelNext();
    await this.#fetching;
  }

  async #fetch(): Promise<void> {
    this.#cancelNext();
    const isDone = await this.#fetchOnce();
    const { clock } = this.#parts;
    this.#quietUntilMs = clock.monotonicMs() + (isDone ? COOLDOWN_MS : FAILED_COOLDOWN_MS);
    if (this.#isClosed) return;
    this.#cancelNext = clock.after(isDone ? REFRESH_MS : RETRY_MS, () => void this.refresh());
  }

  async #fetchOnce(): Promise<boolean> {
    const { log } = this.#parts;
    try {
      await this.#remote.reload();
      const text = JSON.stringify(this.#remote.jwks());
      if (text !== this.#text) {
        const keys = parseJwks(text, this.origin);
        if (this.#keys !== null) log.info(`${this.origin} has new keys`);
        this.#keys = keys;
        this.#parts.onRevoked?.();
        this.#text = text;
      }
      if (this.#isFailing) log.info(`${this.origin} answers again`);
      this.#isFailing = false;
      return true;
    } catch (error) {
      const consequence =
        this.#keys === null ? "tokens are refused until it does" : "the keys fetched before stay in use";
      if (!this.#isFailing) log.warn({ err: error }, `${this.origin} gives no usable keys; ${consequence}`);
      this.#isFailing = true;
      return false;
    }
  }
}
