/** What a peer reports to its listeners: each change once. */
import type { Configuration } from "./messages.js";
import type { ObservedLeader } from "./observations.js";
import type { HeldBack, NotStanding } from "./peer-status.js";
import type { LossCause } from "./term-loop.js";

export type PeerEvent =
  /** `signal` aborts before the deadline. */
  | { readonly kind: "elected"; readonly term: number; readonly signal: AbortSignal }
  | { readonly kind: "lost"; readonly term: number; readonly cause: LossCause }
  /** `released`: the previous leader has given its term back, as far as this peer knows. */
  | { readonly kind: "observed"; readonly leader: ObservedLeader | null; readonly released: boolean }
  /** A first start that cannot continue yet: `for` are the endpoints that must answer first. */
  | { readonly kind: "waiting"; readonly for: readonly string[]; readonly why: string }
  | { readonly kind: "founded"; readonly config: Configuration }
  /** The voters, or their endpoints, have changed as far as this peer knows. */
  | { readonly kind: "electorate"; readonly config: Configuration }
  /** There is no leader, and this peer does not campaign; reported when the reason changes. */
  | { readonly kind: "not-standing"; readonly why: NotStanding }
  /** A change of the electorate has been due for longer than a ttl; `null` when it is no longer held back. */
  | { readonly kind: "held-back"; readonly why: HeldBack | null }
  /** A server of another cluster (`cluster`; this peer belongs to `own`) answered or asked; once for each such server. */
  | {
      readonly kind: "other-cluster";
      readonly identity: string;
      readonly endpoint: string;
      readonly cluster: string;
      readonly own: string;
    };
