/** Public keys that verify signatures, from a JWKS document. */
import { createPublicKey } from "node:crypto";
import { InvalidRequestError } from "@tenure/core";
import { createLocalJWKSet, type JSONWebKeySet, type JWK } from "jose";

export type KeySet = ReturnType<typeof createLocalJWKSet>;

/** Algorithms with a key pair. `none` proves nothing, and with HMAC everybody who can verify can also sign. */
export type KeyAlgorithm = "EdDSA" | "ES256" | "RS256";

const KINDS: Readonly<Record<KeyAlgorithm, (key: JWK) => boolean>> = {
  EdDSA: ({ kty, crv }) => kty === "OKP" && crv === "Ed25519",
  ES256: ({ kty, crv }) => kty === "EC" && crv === "P-256",
  RS256: ({ kty }) => kty === "RSA",
};

/** Reads `text` as JSON, then as `keySetOf` does. */
export function parseKeySet(text: string, origin: string, algorithms: readonly KeyAlgorithm[]): KeySet {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new InvalidRequestError(origin, "is not JSON", { cause });
  }
  return keySetOf(document, origin, algorithms);
}

/**
 * The keys of a JWKS for `algorithms`. Keys of other kinds are left out, as RFC 7517 requires; a broken key makes the document
 * invalid. The result may be empty: a service without a signing key publishes an empty list. Errors name `origin`.
 */
export function keySetOf(document: unknown, origin: string, algorithms: readonly KeyAlgorithm[]): KeySet {
  const listed: unknown = (document as { keys?: unknown } | null)?.keys;
  if (!Array.isArray(listed)) {
    throw new InvalidRequestError(origin, 'is not a JWKS: it has no list named "keys"');
  }
  const keys = listed.filter((key): key is JWK => isUsable(key, algorithms));
  for (const key of keys) check(key, origin);
  return createLocalJWKSet({ keys } satisfies JSONWebKeySet);
}

function isUsable(key: unknown, algorithms: readonly KeyAlgorithm[]): boolean {
  if (typeof key !== "object" || key === null) return false;
  const jwk = key as JWK;
  const { use, alg, key_ops: operations } = jwk;
  return (
    algorithms.some((each) => KINDS[each](jwk)) &&
    (use === undefined || use === "sig") &&
    (alg === undefined || algorithms.some((each) => each === alg)) &&
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
