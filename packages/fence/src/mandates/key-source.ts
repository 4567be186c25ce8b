/**
 * Where the keys of mandates come from: a document in memory, a file or a URL.
 *
 * A file or URL is read for the first mandate, then every ten minutes while mandates are verified, and when a mandate names an
 * unknown key, within the limits of `KeyCache`.
 */
import { readFile } from "node:fs/promises";
import { type Clock, InvalidRequestError } from "@tenure/core";
import { checkKeys } from "@tenure/core/internal";
import type { JSONWebKeySet } from "jose";
import { FenceUnavailableError } from "../errors.js";
import { fetchKeys, KeyCache } from "./key-cache.js";
import { type KeyAlgorithm, type KeySet, keySetOf, parseKeySet } from "./key-set.js";

/** A JWKS, or the file or URL of one; `url` is that of the service's `/v1/keys`. */
export type MandateKeys = JSONWebKeySet | { readonly file: string } | { readonly url: string | URL };

export interface KeySource {
  /** Rejects with `FenceUnavailableError` until keys could be read. */
  current(): Promise<KeySet>;
  /** For a key that `known` lacks: newer keys, or `null` if there are none or it is too early to look. */
  newerThan(known: KeySet): Promise<KeySet | null>;
}

const REFRESH_MS = 600_000;
const ALGORITHMS: readonly KeyAlgorithm[] = ["EdDSA"];

export function keySourceOf(keys: MandateKeys, clock: Clock): KeySource {
  if (typeof keys !== "object" || keys === null) {
    throw new InvalidRequestError("keys", "must be a JWKS, { file } or { url }");
  }
  if ("file" in keys) return fileSource(keys, clock);
  if ("url" in keys) return urlSource(keys, clock);
  const keySet = keySetOf(keys, "keys", ALGORITHMS);
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
  return new CachedKeySource(url.href, () => fetchKeys(url, clock), clock);
}

class CachedKeySource implements KeySource {
  readonly #origin: string;
  readonly #cache: KeyCache;

  constructor(origin: string, load: () => Promise<string>, clock: Clock) {
    this.#origin = origin;
    this.#cache = new KeyCache({ clock, load, parse: (text) => parseKeySet(text, origin, ALGORITHMS) });
  }

  async current(): Promise<KeySet> {
    if (this.#cache.keys === null) await this.#cache.refresh();
    else if (this.#cache.ageMs >= REFRESH_MS) void this.#cache.refresh();
    const { keys, failure } = this.#cache;
    if (keys !== null) return keys;
    throw new FenceUnavailableError(`the keys of mandates could not be had from ${this.#origin}`, {
      cause: failure,
    });
  }

  async newerThan(known: KeySet): Promise<KeySet | null> {
    if (this.#cache.keys === known) await this.#cache.refresh();
    return this.#cache.keys === known ? null : this.#cache.keys;
  }
}
