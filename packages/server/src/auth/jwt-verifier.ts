/**
 * Who asks, by a JWT that somebody else has signed. The wall clock decides here, as it must: a token's dates are dates.
 * Losing the right to ask never lets two nodes lead; it only keeps one from asking.
 */
import { InvalidRequestError } from "@tenure/core";
import type { KeySet } from "@tenure/fence/internal";
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify, type JWTVerifyOptions } from "jose";
import { ServiceError, unauthenticated } from "../service-error.js";
import type { BearerToken } from "./bearer-token.js";
import type { Caller } from "./caller.js";
import { FileKeySource } from "./file-key-source.js";
import {
  DEFAULT_KEY_MAX_AGE_SECONDS,
  DEFAULT_KEY_REFRESH_SECONDS,
  DEFAULT_TOKEN_MAX_AGE_SECONDS,
} from "./jwt-limits.js";
import { ALGORITHMS, type KeySource } from "./key-source.js";
import { isLoopback } from "./listen-policy.js";
import type { AuthDeps } from "./deps.js";
import { redacted, type RemoteKeyOptions, RemoteKeySource } from "./remote-key-source.js";
import { callerOfClaims } from "./token-claims.js";
import { VerifiedTokens } from "./verified-tokens.js";

export interface JwtOptions {
  /** A file, or an http(s) URL. */
  readonly jwks: string;
  readonly issuer?: string | undefined;
  readonly audience?: string | undefined;
  /** Of a token; 0: without limit. */
  readonly maxAgeSeconds?: number | undefined;
  /** Of keys at a URL. */
  readonly keyRefreshSeconds?: number | undefined;
  /** Of keys at a URL; 0: without limit. */
  readonly keyMaxAgeSeconds?: number | undefined;
}

/** Machines that keep time by NTP differ by less. */
const TOLERANCE_SECONDS = 5;
const MAX_DATE_SECONDS = 8_640_000_000_000;

export class JwtVerifier implements AsyncDisposable {
  readonly #source: KeySource;
  readonly #options: JwtOptions;
  readonly #parts: AuthDeps;
  readonly #verified = new VerifiedTokens(TOLERANCE_SECONDS);
  /** Those by which the remembered tokens were verified. */
  #keys: KeySet | null = null;

  private constructor(source: KeySource, options: JwtOptions, parts: AuthDeps) {
    this.#source = source;
    this.#options = options;
    this.#parts = parts;
  }

  static async open(options: JwtOptions, parts: AuthDeps): Promise<JwtVerifier> {
    const { jwks, audience } = options;
    const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(jwks);
    const source = isUrl
      ? RemoteKeySource.open(parseUrl(jwks, parts), remoteOptions(options), parts)
      : await FileKeySource.open(jwks, parts);
    if (audience === undefined) {
      parts.log.warn("--jwt-audience is not set: tokens issued for other services are accepted too");
    }
    return new JwtVerifier(source, options, parts);
  }

  /** Answers at once for a token that was verified before: renewals come every second or so with the same one. */
  verify(token: BearerToken, beforeVerifying?: () => void): Caller | Promise<Caller> {
    if (this.#source.keys !== this.#keys) {
      this.#keys = this.#source.keys;
      this.#verified.clear();
    }
    const known = this.#verified.find(token, this.#parts.clock.wallMs());
    if (known !== undefined) return known;
    beforeVerifying?.();
    return this.#verifyAnew(token);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#source[Symbol.asyncDispose]();
  }

  async #verifyAnew(token: BearerToken): Promise<Caller> {
    try {
      const { claims, keys } = await this.#claims(token.text);
      this.#checkLife(claims);
      const caller = Object.freeze(callerOfClaims(claims));
      // Keys replaced meanwhile: the next request is verified by the new ones.
      if (keys === this.#keys) this.#verified.remember(token, caller, claims);
      return caller;
    } catch (error) {
      // `decodeProtectedHeader` throws a TypeError.
      const isToken = error instanceof errors.JOSEError || error instanceof TypeError;
      throw isToken ? unauthenticated(explain(error), error) : error;
    }
  }

  /**
   * A stolen token works until it expires, so what counts is how long that is from now; `iat` need not be there. Where it is, a
   * token that was issued for too long is refused from the start, and not only until its end is near.
   */
  #checkLife({ exp = 0, iat }: JWTPayload): void {
    const maxAge = this.#options.maxAgeSeconds ?? DEFAULT_TOKEN_MAX_AGE_SECONDS;
    // The end of what a Date can hold: what is later is a mistake.
    if (!(exp <= MAX_DATE_SECONDS)) throw unauthenticated("exp of the token is not a date");
    if (maxAge === 0) return;
    const leftSeconds = exp - this.#parts.clock.wallMs() / 1000;
    const lifeSeconds = Math.max(leftSeconds, typeof iat === "number" ? exp - iat : leftSeconds);
    if (lifeSeconds <= maxAge + TOLERANCE_SECONDS) return;
    throw unauthenticated(
      `the token is valid for ${Math.floor(lifeSeconds)} s; this service accepts at most ${maxAge} s (--jwt-max-age). Use a token with a shorter lifetime`,
    );
  }

  async #claims(token: string): Promise<{ claims: JWTPayload; keys: KeySet }> {
    if (this.#source.keys === null) await this.#source.refresh();
    const { keys } = this.#source;
    if (keys === null) {
      // What can be no token is refused with or without keys.
      decodeProtectedHeader(token);
      // It is our fault and not that of the token, and where the keys are is no business of strangers.
      throw new ServiceError(
        "BACKEND_UNAVAILABLE",
        "the keys that verify tokens are not available; retry, or use another server",
      );
    }
    try {
      return { claims: await this.#verifyBy(keys, token), keys };
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await this.#source.refresh();
      const newer = this.#source.keys;
      if (newer === null || newer === keys) throw error;
      return { claims: await this.#verifyBy(newer, token), keys: newer };
    }
  }

  async #verifyBy(keys: KeySet, token: string): Promise<JWTPayload> {
    const { issuer, audience } = this.#options;
    const options: JWTVerifyOptions = {
      algorithms: ALGORITHMS,
      requiredClaims: ["exp", "sub"],
      clockTolerance: TOLERANCE_SECONDS,
      currentDate: new Date(this.#parts.clock.wallMs()),
      ...(issuer === undefined ? {} : { issuer }),
      ...(audience === undefined ? {} : { audience }),
    };
    try {
      return (await jwtVerify(token, keys, options)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      // A token without `kid`: any of the keys of its kind may have signed it.
      for await (const key of error) {
        try {
          return (await jwtVerify(token, key, options)).payload;
        } catch (tried) {
          if (!(tried instanceof errors.JWSSignatureVerificationFailed)) throw tried;
        }
      }
      throw new errors.JWSSignatureVerificationFailed();
    }
  }
}

/** No message repeats the URL: whatever is wrong with it, it may hold a password. */
function parseUrl(jwks: string, { log }: AuthDeps): URL {
  const url = URL.canParse(jwks) ? new URL(jwks) : null;
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new InvalidRequestError("jwtJwks", "is neither an http(s) URL nor a file");
  }
  if (url.username !== "" || url.password !== "") {
    throw new InvalidRequestError(
      "jwtJwks",
      "contains a user name or a password, which is never sent; remove them, because a JWKS is public",
    );
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    log.warn(`${redacted(url)} is not https: an attacker who can change the response can become an admin`);
  }
  return url;
}

function remoteOptions({ keyRefreshSeconds, keyMaxAgeSeconds }: JwtOptions): RemoteKeyOptions {
  const maxAgeSeconds = keyMaxAgeSeconds ?? DEFAULT_KEY_MAX_AGE_SECONDS;
  return {
    refreshMs: 1000 * (keyRefreshSeconds ?? DEFAULT_KEY_REFRESH_SECONDS),
    maxAgeMs: maxAgeSeconds === 0 ? Number.POSITIVE_INFINITY : 1000 * maxAgeSeconds,
  };
}

function explain(error: Error): string {
  if (error instanceof errors.JWTExpired) return "the token has expired";
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.reason === "missing") return `the token has no ${error.claim}`;
    if (error.claim === "nbf") return "the token is not valid yet (nbf)";
    return `${error.claim} of the token is not accepted by this service`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed)
    return `the token is not signed with ${ALGORITHMS.join(", ")}`;
  if (error instanceof errors.JWKSNoMatchingKey) return "the token is signed with an unknown key";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "the signature of the token is invalid";
  return "the bearer token is not a valid JWT";
}
