/**
 * Who asks, by a JWT that somebody else has signed. The wall clock decides here, as it must: a token's dates are dates.
 * Losing the right to ask never lets two nodes lead; it only keeps one from asking.
 */
import { InvalidRequestError } from "@tenure/core";
import { errors, type JWTPayload, jwtVerify, type JWTVerifyOptions } from "jose";
import type { BearerToken } from "./bearer-token.js";
import type { Caller } from "./caller.js";
import { FileKeySource } from "./file-key-source.js";
import { ALGORITHMS, type KeySet, type KeySource } from "./key-source.js";
import { isLoopback } from "./listen-policy.js";
import type { Parts } from "./parts.js";
import { unauthenticated } from "./refusal.js";
import { RemoteKeySource } from "./remote-key-source.js";
import { callerOfClaims } from "./token-claims.js";
import { VerifiedTokens } from "./verified-tokens.js";

export interface JwtOptions {
  /** A file, or an http(s) URL. */
  readonly jwks: string;
  readonly issuer?: string | undefined;
  readonly audience?: string | undefined;
}

/** Machines that keep time by NTP differ by less. */
const TOLERANCE_SECONDS = 5;

export class JwtVerifier implements AsyncDisposable {
  readonly #source: KeySource;
  readonly #options: JwtOptions;
  readonly #parts: Parts;
  readonly #verified = new VerifiedTokens(TOLERANCE_SECONDS);
  /** Those by which the remembered tokens were verified. */
  #keys: KeySet | null = null;

  private constructor(source: KeySource, options: JwtOptions, parts: Parts) {
    this.#source = source;
    this.#options = options;
    this.#parts = parts;
  }

  static async open(options: JwtOptions, parts: Parts): Promise<JwtVerifier> {
    const { jwks, audience } = options;
    const isUrl = /^https?:\/\//i.test(jwks);
    const source = isUrl
      ? RemoteKeySource.open(parseUrl(jwks, parts), parts)
      : await FileKeySource.open(jwks, parts);
    if (audience === undefined) {
      parts.log.warn("no --jwt-audience is given: a token made for any other service is accepted, too");
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
      const caller = Object.freeze(callerOfClaims(claims));
      // Keys replaced meanwhile: the next request is verified by the new ones.
      if (keys === this.#keys) this.#verified.remember(token, caller, claims);
      return caller;
    } catch (error) {
      throw error instanceof errors.JOSEError ? unauthenticated(explain(error), error) : error;
    }
  }

  async #claims(token: string): Promise<{ claims: JWTPayload; keys: KeySet }> {
    if (this.#source.keys === null) await this.#source.refresh();
    const { keys, origin } = this.#source;
    if (keys === null)
      throw unauthenticated(`the keys of tokens could not be fetched from ${origin} yet; ask again`);
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

function parseUrl(jwks: string, { log }: Parts): URL {
  if (!URL.canParse(jwks)) throw new InvalidRequestError(jwks, "is not a URL");
  const url = new URL(jwks);
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    log.warn(`${jwks} is not https: whoever can change the answer can make itself an admin`);
  }
  return url;
}

function explain(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return "the token has expired";
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.reason === "missing") return `the token has no ${error.claim}`;
    if (error.claim === "nbf") return "the token is not valid yet (nbf)";
    return `${error.claim} of the token is not what this service accepts`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return `the token is not signed by ${ALGORITHMS.join(", ")}`;
  if (error instanceof errors.JWKSNoMatchingKey) return "the token is signed by a key that is not known here";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "the signature of the token is wrong";
  return "the bearer token is not a JWT that can be read";
}
