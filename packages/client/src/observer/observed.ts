import type { Metadata } from "@tenure/core";
import type { ConnectionStatus, KnownLeader } from "../election/state.js";

/** The leader that an observer knows, with its metadata. */
export interface ObservedLeader {
  readonly nodeId: string;
  readonly term: number;
  /** The metadata of the leader of this term; `null` until it is known, or if the leader has none. */
  readonly metadata: Metadata | null;
  /** The leader's address; `null` likewise. */
  readonly address: string | null;
}

/** What `status()` of an observer returns. */
export interface ObserverStatus {
  /** `null` if there is no leader or nothing is known yet. */
  readonly leader: ObservedLeader | null;
  /** The highest term known; 0 for none. */
  readonly term: number;
  readonly connection: ConnectionStatus;
  /** How old the shown state may be; infinite before the first news. */
  readonly staleMs: number;
  /** Why there is no answer; `null` while there is one. */
  readonly error: unknown;
}

/** What `changes()` of an observer yields; narrow on `kind`. */
export type ObserverEvent =
  /** Sent at once; the leader's metadata follows as `details`. */
  | { readonly kind: "leader-changed"; readonly leader: KnownLeader; readonly previousId: string | null }
  | { readonly kind: "details"; readonly leader: ObservedLeader }
  | { readonly kind: "connection"; readonly status: ConnectionStatus }
  | { readonly kind: "hook-failed"; readonly hook: string; readonly error: unknown };
