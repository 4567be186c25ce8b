/**
 * What a peer reports to its operator: who votes, who leads, who is missing, and why a change that is due does not
 * happen. Nothing in the protocol depends on it.
 */
import type { ActiveMember, Configuration } from "./messages.js";
import type { ObservedLeader } from "./observations.js";

export interface PeerStatus {
  readonly identity: string;
  readonly endpoint: string;
  readonly disk: string;
  readonly ttlMs: number;
  /** The highest term that this peer has granted. */
  readonly term: number;
  readonly isLeader: boolean;
  /** Whether this peer, with this disk, is in the electorate that it knows. */
  readonly isElector: boolean;
  /** `null` before a cluster was founded or found. */
  readonly electorate: Configuration | null;
  /** The active membership: servers whose announcement has not expired. */
  readonly members: readonly ActiveMember[];
  readonly leader: ObservedLeader | null;
  /** Electors that neither announced themselves within a member's lease nor, if this peer leads, granted a round. */
  readonly missing: readonly MissingElector[];
  /** The electorate should change but has not yet; `null` if no change is due, or this peer does not lead. */
  readonly heldBack: HeldBack | null;
  /** Why this peer did not campaign at its last opportunity; `null` while it leads or campaigns. */
  readonly notStanding: NotStanding | null;
}

export interface MissingElector {
  readonly identity: string;
  readonly endpoint: string;
}

export interface HeldBack {
  readonly reason: HeldBackReason;
  /** For people. */
  readonly detail: string;
  /** How long this reason has applied. */
  readonly forMs: number;
}

export type HeldBackReason =
  /** The step was sent and is not yet stored by a majority of the old and of the new members. */
  | "not-stored"
  /** The new members have not yet granted a round since the last step. */
  | "not-earned"
  /** `holdStep` returned a reason: `detail` is that reason. */
  | "held"
  /** A server announces itself, but did not grant the latest round at the endpoint that it announces. */
  | "not-reached"
  /** Two servers announce themselves alternately under one identity. */
  | "contested";

export interface NotStanding {
  readonly reason: NotStandingReason;
  /** For people: names the servers concerned. */
  readonly detail: string;
  readonly forMs: number;
}

export type NotStandingReason =
  /** Another peer's lease is live at this peer, or at too many electors for the rest to be a majority. */
  | "lease-active"
  /** Fewer than a majority of the electorate answer. */
  | "no-majority"
  /** The electorate does not contain this peer, or contains it with another disk. */
  | "not-an-elector"
  /** First start: no cluster is known, and this peer may not found one yet. */
  | "not-founded"
  | "leaving"
  /** With `stands: "asked"`: no campaign was requested. */
  | "not-asked"
  /** It campaigned and did not get a majority of votes; it waits before it campaigns again. */
  | "not-elected"
  /** Its own disk failed. */
  | "disk-failed";

/** A reason and the time since which it has applied; the same reason again keeps its time. */
export interface Since<T> {
  readonly what: T;
  readonly sinceMs: number;
}

export function keepSince<T>(
  before: Since<T> | null,
  what: T | null,
  nowMs: number,
  key: (each: T) => string,
): Since<T> | null {
  if (what === null) return null;
  const isSame = before !== null && key(before.what) === key(what);
  return { what, sinceMs: isSame ? before.sinceMs : nowMs };
}
