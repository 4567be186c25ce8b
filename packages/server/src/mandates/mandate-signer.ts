import type { JWK } from "jose";

export interface Mandate {
  readonly groupId: string;
  readonly nodeId: string;
  readonly term: number;
  readonly ttlMs: number;
  /** How long ago the lease began, at most: since before its write was sent. 0 if not given, which is too hopeful. */
  readonly ageMs?: number | undefined;
}

/** Signs leases, so that a resource can verify a leader's term offline. */
export interface MandateSigner extends AsyncDisposable {
  sign(mandate: Mandate): Promise<string>;
  /** The public keys by which mandates that are not over yet can be verified. */
  keys(): readonly JWK[];
}
