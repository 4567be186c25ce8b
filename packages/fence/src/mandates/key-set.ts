/** The public keys of mandates, from a JWKS document as `GET /v1/keys` gives it. */
import { createPublicKey } from "node:crypto";
import { InvalidRequestError } from "@tenure/core";
import { createLocalJWKSet, type JSONWebKeySet, type JWK } from "jose";

export type KeySet = ReturnType<typeof createLocalJWKSet>;

/**
 * Keys of other kinds are left out, as RFC 7517 asks; one that is broken spoils the document. None at all is no fault:
 * a service without a signing key publishes an empty list.
 */
export function keySetOf(document: unknown, origin: string): KeySet {
  const listed: unknown = (document as { keys?: unknown } | null)?.keys;
  if (!Array.isArray(listed)) {
    throw new InvalidRequestError(origin, 'is not a JWKS: it has no list "keys"');
  }
  const keys = listed.filter(isOfMandates);
  for (const key of keys) check(key, origin);
  return createLocalJWKSet({ keys } satisfies JSONWebKeySet);
}

export function parseKeySet(text: string, origin: string): KeySet {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new InvalidRequestError(origin, "is not JSON", { cause });
  }
  return keySetOf(document, origin);
}

function isOfMandates(key: unknown): key is JWK {
  if (typeof key !== "object" || key === null) return false;
  const { kty, crv, use, alg } = key as JWK;
  const isOfKind = kty === "OKP" && crv === "Ed25519";
  return isOfKind && (use === undefined || use === "sig") && (alg === undefined || alg === "EdDSA");
}

function check(key: JWK, origin: string): void {
  const name = key.kid === undefined ? "a key" : `the key ${key.kid}`;
  if (key.d !== undefined) {
    throw new InvalidRequestError(
      origin,
      `holds the private half of ${name}: whoever reads it can sign; use what the service publishes`,
    );
  }
  try {
    createPublicKey({ key: { ...key }, format: "jwk" });
  } catch (cause) {
    throw new InvalidRequestError(origin, `holds ${name}, which cannot be used`, { cause });
  }
}
