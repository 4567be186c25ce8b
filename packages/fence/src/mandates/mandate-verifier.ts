/**
 * Verifies mandates, the leases that the service signs, without asking it.
 *
 * The wall clock decides whether one has expired, as it must: `exp` is a date. That only refuses a replaced leader
 * sooner. Compare the term as well, through a `TermGate` or in the database: it refuses whatever the clocks say.
 */
import { type CallOptions, type Clock, InvalidRequestError, systemClock } from "@tenure/core";
import { checkKeys, isId, unlessAborted } from "@tenure/core/internal";
import { errors, type JWTPayload, jwtVerify } from "jose";
import { isTerm } from "../check.js";
import { InvalidMandateError, MandateExpiredError } from "../errors.js";
import type { KeySet } from "./key-set.js";
import { type KeySource, keySourceOf, type MandateKeys } from "./key-source.js";

export interface MandateVerifierOptions {
  readonly keys: MandateKeys;
  /** The `iss` that a mandate must have. @defaultValue none: every issuer whose keys are in `keys` */
  readonly issuer?: string | undefined;
  /** How long after its end a mandate is still accepted, for clocks that are ahead, in milliseconds, 0 to 60,000. @defaultValue 0 */
  readonly leewayMs?: number | undefined;
  /** The source of time, for tests. @defaultValue `systemClock` */
  readonly clock?: Clock | undefined;
}

/** What a mandate must say besides being genuine. */
export interface ExpectedMandate {
  readonly groupId?: string | undefined;
  readonly nodeId?: string | undefined;
  readonly term?: number | undefined;
}

export interface VerifiedMandate {
  readonly groupId: string;
  readonly nodeId: string;
  readonly term: number;
  readonly expiresAtMs: number;
}

const MAX_LEEWAY_MS = 60_000;
const OPTIONS = ["keys", "issuer", "leewayMs", "clock"];

export class MandateVerifier {
  readonly #source: KeySource;
  readonly #issuer: string | undefined;
  readonly #leewayMs: number;
  readonly #clock: Clock;

  constructor(options: MandateVerifierOptions) {
    checkKeys(options, "", OPTIONS);
    const { keys, issuer, leewayMs = 0, clock = systemClock } = options;
    if (issuer !== undefined && (typeof issuer !== "string" || issuer === "")) {
      throw new InvalidRequestError("issuer", "must be a name");
    }
    if (!(Number.isSafeInteger(leewayMs) && leewayMs >= 0 && leewayMs <= MAX_LEEWAY_MS)) {
      throw new InvalidRequestError("leewayMs", `must be a whole number from 0 to ${MAX_LEEWAY_MS}`);
    }
    this.#source = keySourceOf(keys, clock);
    this.#issuer = issuer;
    this.#leewayMs = leewayMs;
    this.#clock = clock;
  }

  /**
   * Rejects with `InvalidMandateError`, `MandateExpiredError`, or `FenceUnavailableError` while the keys cannot be had.
   */
  async verify(
    token: string,
    expected: ExpectedMandate = {},
    options: CallOptions = {},
  ): Promise<VerifiedMandate> {
    options.signal?.throwIfAborted();
    const mandate = readClaims(await unlessAborted(options.signal, this.#claims(token)));
    for (const name of ["groupId", "nodeId", "term"] as const) {
      const wanted = expected[name];
      if (wanted === undefined || wanted === mandate[name]) continue;
      throw new InvalidMandateError(
        "mismatch",
        `the mandate is for ${name} ${mandate[name]}, and ${wanted} is what counts here`,
      );
    }
    return mandate;
  }

  async #claims(token: string): Promise<JWTPayload> {
    const keys = await this.#source.current();
    try {
      return await this.#verifyBy(keys, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw explain(error);
      const newer = await this.#source.newerThan(keys);
      if (newer === null) throw explain(error);
      return await this.#verifyBy(newer, token).catch((again: unknown) => {
        throw explain(again);
      });
    }
  }

  async #verifyBy(keys: KeySet, token: string): Promise<JWTPayload> {
    const { payload } = await jwtVerify(token, keys, {
      algorithms: ["EdDSA"],
      requiredClaims: ["exp"],
      // Not jose's tolerance: that one counts in whole seconds.
      currentDate: new Date(this.#clock.wallMs() - this.#leewayMs),
      ...(this.#issuer === undefined ? {} : { issuer: this.#issuer }),
    });
    return payload;
  }
}

function readClaims({
  sub,
  group,
  term,
  exp,
}: JWTPayload & { group?: unknown; term?: unknown }): VerifiedMandate {
  const refuse = (claim: string): InvalidMandateError =>
    new InvalidMandateError("claims", `${claim} of the mandate is missing or not what it must be`);
  if (!isId(sub)) throw refuse("sub");
  if (!isId(group)) throw refuse("group");
  if (!isTerm(term)) throw refuse("term");
  if (exp === undefined) throw refuse("exp");
  return { groupId: group, nodeId: sub, term, expiresAtMs: exp * 1000 };
}

/** jose's errors in ours; anything else is a fault and stays as it is. */
function explain(error: unknown): unknown {
  if (!(error instanceof errors.JOSEError)) return error;
  const options = { cause: error };
  if (error instanceof errors.JWTExpired) {
    return new MandateExpiredError((error.payload.exp ?? 0) * 1000, options);
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    const message = `${error.claim} of the mandate is missing or not what it must be`;
    return new InvalidMandateError("claims", message, options);
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    return new InvalidMandateError(
      "unknown-key",
      "the mandate is signed by a key that is not known",
      options,
    );
  }
  if (error instanceof errors.JWKSMultipleMatchingKeys) {
    return new InvalidMandateError("unknown-key", "the mandate does not name its key (kid)", options);
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return new InvalidMandateError("signature", "the signature of the mandate is wrong", options);
  }
  return new InvalidMandateError("malformed", "this is not a mandate that can be read", options);
}
