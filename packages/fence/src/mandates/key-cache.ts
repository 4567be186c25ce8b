/**
 * A JWKS that is loaded again from time to time. Its owner decides when; the cache only prevents that keys are loaded more often
 * than the cooldown allows, whatever tokens callers send. When loading fails, the previous keys stay in use: an identity provider
 * that is down must not end every leadership at once. So a withdrawn key is accepted until a load has succeeded without it.
 */
import type { Clock } from "@tenure/core";
import { within } from "@tenure/core/internal";
import type { KeySet } from "./key-set.js";

/** The end of one attempt to load the keys. */
export type KeyLoad =
  | { readonly kind: "loaded"; readonly isChanged: boolean; readonly hadKeys: boolean }
  | { readonly kind: "failed"; readonly error: unknown };

export interface KeyCacheOptions {
  readonly clock: Clock;
  readonly load: () => Promise<string>;
  readonly parse: (text: string) => KeySet;
  /** Called once after each attempt. */
  readonly onLoad?: ((load: KeyLoad) => void) | undefined;
}

const COOLDOWN_MS = 10_000;
const FAILED_COOLDOWN_MS = 1_000;
/** Requests wait for this, and their leases run meanwhile. */
const TIMEOUT_MS = 2_000;
const MAX_BYTES = 1024 * 1024;

export class KeyCache {
  readonly #options: KeyCacheOptions;
  #keys: KeySet | null = null;
  #text = "";
  #failure: unknown;
  #loadedAtMs = Number.NEGATIVE_INFINITY;
  #loading: Promise<void> | null = null;
  #quietUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: KeyCacheOptions) {
    this.#options = options;
  }

  /** A new object whenever the document has changed; `null` until a load has succeeded. */
  get keys(): KeySet | null {
    return this.#keys;
  }

  /** Time since the last successful load was started; `Infinity` before the first one. */
  get ageMs(): number {
    return this.#options.clock.monotonicMs() - this.#loadedAtMs;
  }

  /** The error of the last failed load. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Forgets the keys. They count as new when they are loaded again. */
  clear(): void {
    this.#keys = null;
    this.#text = "";
  }

  /** Loads the keys, unless the cooldown of the last load still runs. Concurrent calls share one load. Never rejects. */
  async refresh(): Promise<void> {
    if (this.#loading === null && this.#options.clock.monotonicMs() < this.#quietUntilMs) return;
    this.#loading ??= this.#load().finally(() => {
      this.#loading = null;
    });
    await this.#loading;
  }

  /** Resolves when no load is under way. */
  async settled(): Promise<void> {
    await this.#loading;
  }

  async #load(): Promise<void> {
    const { clock, onLoad } = this.#options;
    const load = await this.#loadOnce();
    const cooldownMs = load.kind === "loaded" ? COOLDOWN_MS : FAILED_COOLDOWN_MS;
    this.#quietUntilMs = clock.monotonicMs() + cooldownMs;
    onLoad?.(load);
  }

  async #loadOnce(): Promise<KeyLoad> {
    const { clock, load, parse } = this.#options;
    // The age counts from the request and not from the answer, which may have been under way for a while.
    const startedAtMs = clock.monotonicMs();
    try {
      const text = await load();
      const hadKeys = this.#keys !== null;
      const isChanged = text !== this.#text;
      if (isChanged) {
        this.#keys = parse(text);
        this.#text = text;
      }
      this.#loadedAtMs = startedAtMs;
      return { kind: "loaded", isChanged, hadKeys };
    } catch (error) {
      this.#failure = error;
      return { kind: "failed", error };
    }
  }
}

/** Fetches the text of a JWKS: no redirects, a timeout of two seconds, at most one mebibyte. */
export function fetchKeys(url: URL, clock: Clock): Promise<string> {
  const late = (): Error => new Error(`no response within ${TIMEOUT_MS} ms`);
  return within(clock, { limitMs: TIMEOUT_MS, late }, async (signal) => {
    const response = await fetch(url, {
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

/** Throws as soon as the response is larger than `MAX_BYTES`. */
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
