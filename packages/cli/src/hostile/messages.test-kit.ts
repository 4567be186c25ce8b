/** What a test, its honest leader and its attackers, processes of their own, send each other. */

/** Where the service is and how it is believed. */
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
  /** Collect renewals, and say so when there are `count` of them. */
  | { readonly kind: "collect"; readonly count: number }
  /** Report all that were collected. */
  | { readonly kind: "report" }
  | { readonly kind: "end" };

export type HonestMessage =
  /** Leads every group; its term in each. */
  | { readonly kind: "leads"; readonly terms: readonly number[] }
  /** A leadership ended, though nobody asked for it. */
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

/** Of how many sockets, watches, polls or callers each attack is made. */
export type Strengths = Readonly<Partial<Record<AttackName, number>>>;

export interface AttackOptions {
  readonly attacks: Strengths;
  readonly place: Place;
  /** JWTs of the attacker, who is a known caller with few rights. */
  readonly observerToken: string;
  readonly nodeToken: string;
}

export type AttackMessage =
  /** It is under way with all its might. */
  | { readonly kind: "attacking" }
  /** What it did and what was answered, by name, and the processor time that it took as "cpu ms". */
  | { readonly kind: "report"; readonly counts: Readonly<Record<string, number>> };
