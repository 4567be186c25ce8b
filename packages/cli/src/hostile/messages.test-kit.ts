/** Messages between a test, its honest leader and its attackers, which are separate processes. */

/** The address of the service and its credentials. */
export interface Place {
  readonly url: string;
  readonly port: number;
  readonly grpcPort: number;
  /** PEM of the authority. */
  readonly ca: string;
}

export interface HonestOptions {
  readonly place: Place;
  readonly cert: string;
  readonly key: string;
  readonly groups: readonly string[];
  readonly ttlMs: number;
  readonly heartbeatMs: number;
}

export type HonestOrder =
  /** Collect renewals, and report when there are `count` of them. */
  | { readonly kind: "collect"; readonly count: number }
  /** Report all collected renewals. */
  | { readonly kind: "report" }
  | { readonly kind: "end" };

export type HonestMessage =
  /** It leads every group; its term in each. */
  | { readonly kind: "leads"; readonly terms: readonly number[] }
  /** A leadership ended unexpectedly. */
  | { readonly kind: "lost"; readonly group: string; readonly reason: string }
  | { readonly kind: "enough" }
  | {
      readonly kind: "collected";
      readonly latenciesMs: readonly number[];
      readonly failures: readonly string[];
    };

export type AttackName =
  | "silent-sockets"
  | "stalled-handshakes"
  | "watches"
  | "open-watches"
  | "snapshots"
  | "garbage"
  | "reconnects"
  | "deaf-readers"
  | "refused-campaigns"
  | "bad-tokens";

/** The number of sockets, watches, polls or callers of each attack. */
export type Strengths = Readonly<Partial<Record<AttackName, number>>>;

export interface AttackOptions {
  readonly attacks: Strengths;
  readonly place: Place;
  /** JWTs of the attacker, who is a known caller with few rights. */
  readonly observerToken: string;
  readonly nodeToken: string;
}

export type AttackMessage =
  /** The attack is fully in progress. */
  | { readonly kind: "attacking" }
  /** What it did and how it was answered, by name, and its processor time as "cpu ms". */
  | { readonly kind: "report"; readonly counts: Readonly<Record<string, number>> };
