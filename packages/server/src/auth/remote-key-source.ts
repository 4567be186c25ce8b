/**
 * A JWKS at a URL. It is fetched in the background, at intervals and when a token names a key that is not known, but never
 * more often than the cooldown allows, whatever tokens strangers send.
 *
 * Keys once fetched stay in use while the URL does not answer, up to `maxAgeMs`: that an identity provider is down must not
 * end every leadership at once. So a key that was withdrawn is accepted until the URL has answered without it, and for
 * `maxAgeMs` at most.
 */
import type { CancelTimer } from "@tenure/core";
import { within } from "@tenure/core/internal";
import { type KeySet, type KeySource, parseJwks } from "./key-source.js";
import type { AuthDeps } from "./deps.js";

export interface RemoteKeyOptions {
  readonly refreshMs: number;
  /** Keys that were not confirmed for this long are not used any more. `Infinity`: they are. */
  readonly maxAgeMs: number;
}

const RETRY_MS = 30_000;
const COOLDOWN_MS = 10_000;
const FAILED_COOLDOWN_MS = 1_000;
/** A request may wait for this; its lease runs meanwhile. */
const TIMEOUT_MS = 2_000;
const MAX_BYTES = 1024 * 1024;

export class RemoteKeySource implements KeySource {
  /** Without what may be secret in it. */
  readonly origin: string;
  readonly #url: URL;
  readonly #options: RemoteKeyOptions;
  readonly #parts: AuthDeps;
  #keys: KeySet | null = null;
  #text = "";
  #fetchedAtMs = Number.NEGATIVE_INFINITY;
  #fetching: Promise<void> | null = null;
  #quietUntilMs = Number.NEGATIVE_INFINITY;
  #isFailing = false;
  #isClosed = false;
  #cancelNext: CancelTimer = () => {};

  private constructor(url: URL, options: RemoteKeyOptions, parts: AuthDeps) {
    this.origin = redacted(url);
    this.#url = url;
    this.#options = options;
    this.#parts = parts;
  }

  /** Does not wait for the keys: a service whose identity provider is down starts all the same. */
  static open(url: URL, options: RemoteKeyOptions, parts: AuthDeps): RemoteKeySource {
    const source = new RemoteKeySource(url, options, parts);
    void source.refresh();
    return source;
  }

  get keys(): KeySet | null {
    const ageMs = this.#parts.clock.monotonicMs() - this.#fetchedAtMs;
    if (this.#keys !== null && ageMs > this.#options.maxAgeMs) {
      this.#keys = null;
      this.#text = "";
      this.#parts.log.warn(
        `${this.origin} returned no usable keys for longer than --jwt-key-max-age: no token is accepted until it does`,
      );
    }
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
    const { refreshMs } = this.#options;
    const nextMs = isDone ? refreshMs : Math.min(RETRY_MS, refreshMs);
    this.#cancelNext = clock.after(nextMs, () => void this.refresh());
  }

  async #fetchOnce(): Promise<boolean> {
    const { clock, log } = this.#parts;
    // Of the answer's asking, not of its arrival: it may have been on its way for a while.
    const askedAtMs = clock.monotonicMs();
    try {
      const text = await this.#fetchText();
      if (text !== this.#text) {
        const keys = parseJwks(text, this.origin);
        if (this.#keys !== null) log.info(`${this.origin} has new keys`);
        this.#keys = keys;
        this.#text = text;
        this.#parts.onRevoked?.();
      }
      this.#fetchedAtMs = askedAtMs;
      if (this.#isFailing) log.info(`${this.origin} responds again`);
      this.#isFailing = false;
      return true;
    } catch (error) {
      const consequence =
        this.#keys === null
          ? "tokens cannot be verified until it does"
          : "the keys fetched earlier stay in use";
      const { message, cause } = error as Error;
      const why = cause instanceof Error ? `${message}: ${cause.message}` : message;
      if (!this.#isFailing) log.warn(`${this.origin} returned no usable keys (${why}); ${consequence}`);
      this.#isFailing = true;
      return false;
    }
  }

  #fetchText(): Promise<string> {
    const late = (): Error => new Error(`no response within ${TIMEOUT_MS} ms`);
    return within(this.#parts.clock, { limitMs: TIMEOUT_MS, late }, async (signal) => {
      const response = await fetch(this.#url, {
        // Only the operator decides where the keys come from.
        redirect: "manual",
        signal,
        headers: { accept: "application/jwk-set+json, application/json" },
      });
      if (response.status === 200) return readBounded(response);
      await response.body?.cancel();
      throw new Error(`HTTP status ${response.status}`);
    });
  }
}

/** A URL may have a secret in its query. Those with a user or a password are refused before. */
export function redacted({ origin, pathname, search }: URL): string {
  return `${origin}${pathname}${search === "" ? "" : "?…"}`;
}

/** Throws as soon as more has come than keys can need. */
async function readBounded({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array> | Iterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new Error(`the response is larger than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
