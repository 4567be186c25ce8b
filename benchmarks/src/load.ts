/** What the load generator is asked. */
export interface Load {
  /** `renew-many`: `POST /v1/renew`, counted in renewals. */
  readonly verb: "renew" | "renew-many" | "leader";
  readonly connections: number;
}

export type LoadQuestion =
  /** Connects, and wins the leases of the groups; answered `null`. What is opened serves one run. */
  | { readonly kind: "open"; readonly port: number; readonly load: Load }
  | { readonly kind: "run"; readonly turnMs: number };

/** Renewals in one request of `renew-many`. */
export const BATCH = 100;
