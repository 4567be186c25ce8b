/**
 * Mandates as compact JWS with the claims `iss, sub, group, term, iat, exp`.
 *
 * `exp` is the one place where a lease becomes a date. It is counted from before the lease was written and rounded down to
 * the whole second that JWT libraries compare by, so that on this server's wall clock no mandate outlives its lease. The
 * price is up to a second of use: below a ttl of two seconds mandates are hardly worth having, and one may be over when
 * it is signed. A verifier whose clock is behind by s, or that tolerates s, accepts a mandate for s longer. So a resource
 * must compare `term` as well: it refuses a replaced leader whatever the clocks say, and `exp` only refuses it sooner.
 *
 * Signing runs on the thread pool: under load a mandate takes 17 µs of the main thread, against 59 for signing in place
 * and 74 for jose's SignJWT. A single one takes longer (0.1 ms), which is nothing beside the write of its lease.
 */
import { sign as signBytes } from "node:crypto";
import type { JWK } from "jose";
import { modeWarning } from "../auth/file-mode.js";
import type { AuthDeps } from "../auth/deps.js";
import { ReloadedFiles } from "../auth/reloaded-files.js";
import type { Mandate, MandateSigner } from "./mandate-signer.js";
import { parseSigningKeys, type SigningKey } from "./signing-key.js";

export interface MandateSignerOptions {
  readonly keyFile: string;
  /** `iss` of the mandates. */
  readonly issuer?: string | undefined;
}

type SigningKeys = readonly [SigningKey, ...SigningKey[]];

export class Ed25519MandateSigner implements MandateSigner {
  readonly #file: ReloadedFiles<SigningKeys>;
  readonly #issuer: string;
  readonly #parts: AuthDeps;
  /** By `kid`: until when, on the monotonic clock, something signed with it may be in use. */
  readonly #signed = new Map<string, { readonly publicJwk: JWK; overAtMs: number }>();

  private constructor(file: ReloadedFiles<SigningKeys>, issuer: string, parts: AuthDeps) {
    this.#file = file;
    this.#issuer = issuer;
    this.#parts = parts;
  }

  static async open(options: MandateSignerOptions, parts: AuthDeps): Promise<Ed25519MandateSigner> {
    const { keyFile, issuer = "tenure" } = options;
    const { clock, log } = parts;
    const file = await ReloadedFiles.open({
      paths: [keyFile],
      clock,
      parse: ([content]) => parseSigningKeys(content as Buffer, keyFile),
      onChange: ([{ kid }]) => log.info(`${keyFile} has changed: mandates are signed with the key ${kid}`),
      onRefused: (error) => log.warn(`${error.message}; the previous signing key stays in use`),
    });
    const warning = await modeWarning(keyFile);
    if (warning !== undefined) log.warn(warning);
    return new Ed25519MandateSigner(file, issuer, parts);
  }

  sign({ groupId, nodeId, term, ttlMs, ageMs = 0 }: Mandate): Promise<string> {
    const [key] = this.#file.current;
    const { clock } = this.#parts;
    const nowMs = clock.wallMs();
    const iat = Math.floor(nowMs / 1000);
    const exp = Math.floor((nowMs - ageMs + ttlMs) / 1000);
    this.#keep(key, clock.monotonicMs() + ttlMs);
    const claims = { iss: this.#issuer, sub: nodeId, group: groupId, term, iat, exp };
    const input = `${key.header}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}`;
    return new Promise((resolve, reject) => {
      signBytes(null, Buffer.from(input), key.privateKey, (error, signature) => {
        if (error === null) resolve(`${input}.${signature.toString("base64url")}`);
        else reject(error);
      });
    });
  }

  keys(): readonly JWK[] {
    const inForce = this.#file.current;
    const nowMs = this.#parts.clock.monotonicMs();
    const retired: JWK[] = [];
    for (const [kid, { publicJwk, overAtMs }] of [...this.#signed]) {
      if (overAtMs <= nowMs) this.#signed.delete(kid);
      else if (!inForce.some((key) => key.kid === kid)) retired.push(publicJwk);
    }
    return [...inForce.map((key) => key.publicJwk), ...retired];
  }

  /** Looks now whether the key file has changed. */
  look(): Promise<void> {
    return this.#file.look();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file[Symbol.asyncDispose]();
  }

  #keep({ kid, publicJwk }: SigningKey, overAtMs: number): void {
    const known = this.#signed.get(kid);
    if (known === undefined) this.#signed.set(kid, { publicJwk, overAtMs });
    else known.overAtMs = Math.max(known.overAtMs, overAtMs);
  }
}
