/** The private key of mandates: Ed25519 in PEM, a JWK, or a set of JWKs. */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type JsonWebKeyInput,
  type KeyObject,
} from "node:crypto";
import { InvalidRequestError } from "@tenure/core";
import type { JWK } from "jose";

export interface SigningKey {
  readonly privateKey: KeyObject;
  readonly kid: string;
  readonly publicJwk: JWK;
  /** The header of its tokens, encoded: the same for all of them. */
  readonly header: string;
}

/** The first one signs. The others of a set are published only, so that verifiers know them before they sign. */
export function parseSigningKeys(content: Buffer, path: string): readonly [SigningKey, ...SigningKey[]] {
  const text = content.toString("utf8").trim();
  const [first, ...others] = text.startsWith("{") ? readJwks(text, path) : [readPem(text, path)];
  if (first === undefined) throw new InvalidRequestError(path, "contains no key");
  return [signingKey(first, path), ...others.map((each) => signingKey(each, path))];
}

function readPem(text: string, path: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch (cause) {
    const isEncrypted = text.includes("ENCRYPTED");
    const problem = isEncrypted
      ? "is encrypted; use a key without a passphrase"
      : "contains no private key in PEM or JWK format";
    throw new InvalidRequestError(path, problem, { cause });
  }
}

function readJwks(text: string, path: string): KeyObject[] {
  try {
    const document = JSON.parse(text) as { keys?: JsonWebKeyInput["key"][] };
    const keys = document.keys ?? [document];
    return keys.map((key) => createPrivateKey({ key, format: "jwk" }));
  } catch (cause) {
    throw new InvalidRequestError(path, "contains no private JWK that can be read", { cause });
  }
}

function signingKey(privateKey: KeyObject, path: string): SigningKey {
  if (privateKey.asymmetricKeyType !== "ed25519") {
    const kind = privateKey.asymmetricKeyType ?? "unknown";
    throw new InvalidRequestError(
      path,
      `contains a key of kind ${kind}; mandates are signed with Ed25519 (openssl genpkey -algorithm ed25519)`,
    );
  }
  const { x } = createPublicKey(privateKey).export({ format: "jwk" }) as { x: string };
  const kid = thumbprint(x);
  return {
    privateKey,
    kid,
    publicJwk: Object.freeze({ kty: "OKP", crv: "Ed25519", x, kid, alg: "EdDSA", use: "sig" }),
    header: Buffer.from(JSON.stringify({ alg: "EdDSA", kid })).toString("base64url"),
  };
}

/** RFC 7638: the required members only, in the order of the alphabet, without blanks. */
function thumbprint(x: string): string {
  return createHash("sha256")
    .update(JSON.stringify({ crv: "Ed25519", kty: "OKP", x }))
    .digest("base64url");
}
