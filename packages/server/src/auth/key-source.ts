/** The public keys by which tokens are verified, from a JWKS document. */
import { createPublicKey } from "node:crypto";
import { InvalidRequestError } from "@tenure/core";
import { createLocalJWKSet, type JWK } from "jose";

export type KeySet = ReturnType<typeof createLocalJWKSet>;

/** Signatures by a key pair only. `none` proves nothing; HMAC would make every public key a secret that signs. */
export const ALGORITHMS = ["EdDSA", "ES256", "RS256"];

export interface KeySource extends AsyncDisposable {
  /** Another object whenever the keys are others; null while none could be had. */
  readonly keys: KeySet | null;
  /** For people: the file or URL. */
  readonly origin: string;
  /** A token's key is not among them: looks for newer ones, if that can help. Never rejects. */
  refresh(): Promise<void>;
}

/** Keys of kinds that are not used here are left out, as RFC 7517 asks; one that is broken spoils the document. */
export function parseJwks(text: string, origin: string): KeySet {
  let document: { keys?: unknown } | null;
  try {
    document = JSON.parse(text) as { keys?: unknown } | null;
  } catch (cause) {
    throw new InvalidRequestError(origin, "is not JSON", { cause });
  }
  const listed: unknown = document?.keys;
  if (!Array.isArray(listed))
    throw new InvalidRequestError(origin, 'is not a JWKS: it has no list named "keys"');
  const keys = listed.filter(isUsable);
  if (keys.length === 0) {
    throw new InvalidRequestError(origin, `contains no public key for ${ALGORITHMS.join(", ")}`);
  }
  for (const key of keys) check(key, origin);
  return createLocalJWKSet({ keys });
}

function isUsable(key: unknown): key is JWK {
  if (typeof key !== "object" || key === null) return false;
  const { kty, crv, use, alg, key_ops: operations } = key as JWK;
  const isOfKind = kty === "RSA" || (kty === "OKP" && crv === "Ed25519") || (kty === "EC" && crv === "P-256");
  return (
    isOfKind &&
    (use === undefined || use === "sig") &&
    (alg === undefined || ALGORITHMS.includes(alg)) &&
    (operations === undefined || operations.includes("verify"))
  );
}

function check(key: JWK, origin: string): void {
  const name = key.kid === undefined ? "a key" : `the key ${key.kid}`;
  if (key.d !== undefined) {
    throw new InvalidRequestError(
      origin,
      `contains the private part of ${name}, which could sign tokens; publish public keys only`,
    );
  }
  try {
    createPublicKey({ key: { ...key }, format: "jwk" });
  } catch (cause) {
    throw new InvalidRequestError(origin, `contains ${name}, which cannot be used`, { cause });
  }
}
