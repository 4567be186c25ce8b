import type { Metadata } from "@tenure/core";
import type { ConnectionStatus, KnownLeader } from "../election/state.js";

/** The leader that an observer knows of, with what it says of itself. */
export interface ObservedLeader {
  readonly nodeId: string;
  readonly term: number;
  /** What the leader of this very term tells about itself; `null` until it is known, and where it tells nothing. */
  readonly metadata: Metadata | null;
  /** Where it is reached; `null` likewise. */
  readonly address: string | null;
}

/** What `status()` of an observer returns. */
export interface ObserverStatus {
  /** `null` where nobody leads, or nothing is known yet. */
  readonly leader: ObservedLeader | null;
  /** The highest term known; 0 for none. */
  readonly term: number;
  readonly connection: ConnectionStatus;
  /** How old what is shown may be; infinite before the first news. */
  readonly staleMs: number;
  /** Why there is no answer, while there is none. */
  readonly error: unknown;
}

/** What `changes()` of an observer yields; narrow on `kind`. */
export type ObserverEvent =
  /** At once; what the leader tells about itself follows as `details`. */
  | { readonly kind: "leader-changed"; readonly leader: KnownLeader; readonly previousId: string | null }
  | { readonly kind: "details"; readonly leader: ObservedLeader }
  | { readonly kind: "connection"; readonly status: ConnectionStatus }
  | { readonly kind: "hook-failed"; readonly hook: string; readonly error: unknown };
