/** The public keys that verify the tokens of callers. */
import { InvalidRequestError } from "@tenure/core";
import { type KeyAlgorithm, type KeySet, parseKeySet } from "@tenure/fence/internal";

export const ALGORITHMS: KeyAlgorithm[] = ["EdDSA", "ES256", "RS256"];

export interface KeySource extends AsyncDisposable {
  /** A new object whenever the keys have changed; `null` until keys could be read. */
  readonly keys: KeySet | null;
  /** The file or URL, for messages. */
  readonly origin: string;
  /** Called when a token names an unknown key: looks for newer keys if that can help. Never rejects. */
  refresh(): Promise<void>;
}

/** Unlike a fence, the service needs at least one key: without keys it would refuse every token. */
export function parseJwks(text: string, origin: string): KeySet {
  const keys = parseKeySet(text, origin, ALGORITHMS);
  if (keys.jwks().keys.length === 0) {
    throw new InvalidRequestError(origin, `contains no public key for ${ALGORITHMS.join(", ")}`);
  }
  return keys;
}
