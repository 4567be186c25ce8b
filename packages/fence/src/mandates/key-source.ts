/**
 * Where the keys of mandates come from: a document in memory, a file or a URL.
 *
 * The latter two are read when the first mandate comes, every ten minutes after that while mandates come, and when one
 * names a key that is not known; but never more often than the cooldown allows, whatever tokens strangers send. Keys once
 * read stay in use while the place does not answer, so a key that was withdrawn is trusted until it has.
 */
import { readFile } from "node:fs/promises";
import { type Clock, InvalidRequestError } from "@tenure/core";
import { checkKeys } from "@tenure/core/internal";
import { createRemoteJWKSet, type JSONWebKeySet } from "jose";
import { FenceUnavailableError } from "../errors.js";
import { type KeySet, keySetOf, parseKeySet } from "./key-set.js";

/** A JWKS as it is, or where it lies; `url` is that of the service's `/v1/keys`. */
export type MandateKeys = JSONWebKeySet | { readonly file: string } | { readonly url: string | URL };

export interface KeySource {
  /** Rejects with `FenceUnavailableError` while none could be had. */
  current(): Promise<KeySet>;
  /** For a key that `known` lacks: newer keys if there are any and it is time to look, else `null`. */
  newerThan(known: KeySet): Promise<KeySet | null>;
}

export const REFRESH_MS = 600_000;
export const COOLDOWN_MS = 10_000;
export const FAILED_COOLDOWN_MS = 1_000;
/** A request waits for this. */
const TIMEOUT_MS = 2_000;

export function keySourceOf(keys: MandateKeys, clock: Clock): KeySource {
  if (typeof keys !== "object" || keys === null) {
    throw new InvalidRequestError("keys", "must be a JWKS, { file } or { url }");
  }
  if ("file" in keys) return fileSource(keys, clock);
  if ("url" in keys) return urlSource(keys, clock);
  const keySet = keySetOf(keys, "keys");
  return { current: async () => keySet, newerThan: async () => null };
}

function fileSource(keys: { readonly file: string }, clock: Clock): KeySource {
  checkKeys(keys, "", ["file"]);
  const { file } = keys;
  if (typeof file !== "string" || file === "") {
    throw new InvalidRequestError("keys.file", "must be the path of a file");
  }
  return new CachedKeySource(file, () => readFile(file, "utf8"), clock);
}

function urlSource(keys: { readonly url: string | URL }, clock: Clock): KeySource {
  checkKeys(keys, "", ["url"]);
  const text = String(keys.url);
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new InvalidRequestError("keys.url", "must be an http or https URL");
  }
  const url = new URL(text);
  // When to fetch is decided here, on the injected clock; jose does the fetching.
  const remote = createRemoteJWKSet(url, { timeoutDuration: TIMEOUT_MS });
  const load = async (): Promise<string> => {
    await remote.reload();
    return JSON.stringify(remote.jwks());
  };
  return new CachedKeySource(url.href, load, clock);
}

class CachedKeySource implements KeySource {
  readonly #origin: string;
  readonly #load: () => Promise<string>;
  readonly #clock: Clock;
  #keys: KeySet | null = null;
  #text = "";
  #failure: unknown;
  #loading: Promise<void> | null = null;
  #quietUntilMs = Number.NEGATIVE_INFINITY;
  #refreshAtMs = Number.POSITIVE_INFINITY;

  constructor(origin: string, load: () => Promise<string>, clock: Clock) {
    this.#origin = origin;
    this.#load = load;
    this.#clock = clock;
  }

  async current(): Promise<KeySet> {
    if (this.#keys === null) await this.#refresh();
    else if (this.#clock.monotonicMs() >= this.#refreshAtMs) void this.#refresh();
    if (this.#keys !== null) return this.#keys;
    const message = `the keys of mandates could not be had from ${this.#origin}`;
    throw new FenceUnavailableError(message, { cause: this.#failure });
  }

  async newerThan(known: KeySet): Promise<KeySet | null> {
    if (this.#keys === known) await this.#refresh();
    return this.#keys === known ? null : this.#keys;
  }

  /** Never rejects. Whoever comes while it is under way shares it. */
  async #refresh(): Promise<void> {
    if (this.#loading === null && this.#clock.monotonicMs() < this.#quietUntilMs) return;
    this.#loading ??= this.#loadOnce().finally(() => {
      this.#loading = null;
    });
    await this.#loading;
  }

  async #loadOnce(): Promise<void> {
    let cooldownMs = COOLDOWN_MS;
    try {
      const text = await this.#load();
      if (text !== this.#text) {
        this.#keys = parseKeySet(text, this.#origin);
        this.#text = text;
      }
      this.#refreshAtMs = this.#clock.monotonicMs() + REFRESH_MS;
    } catch (error) {
      this.#failure = error;
      cooldownMs = FAILED_COOLDOWN_MS;
    }
    this.#quietUntilMs = this.#clock.monotonicMs() + cooldownMs;
  }
}
