/**
 * One record per group, never deleted: all that decides who may win. Times in it are durations left as of the write that
 * stored them, counted by each observer from its own first sight of that revision.
 *
 * It is small, because every renewal rewrites it; the longer history has a key of its own.
 */
import type { EndReason, LeadershipEvent } from "./event.js";
import type { Metadata } from "./elector.js";
import { DEFAULT_POLICY, type GroupPolicy } from "./policy.js";

export interface Holder {
  readonly nodeId: string;
  readonly instanceId: string | null;
  readonly ttlMs: number;
  readonly priority: number;
  readonly metadata: Metadata | null;
}

/** How the last term to end ended, so that a resign asked again can be told from a loss. */
export interface EndedTerm {
  readonly term: number;
  readonly nodeId: string;
  readonly instanceId: string | null;
  readonly reason: EndReason;
}

export interface Ban {
  readonly nodeId: string;
  readonly leftMs: number;
}

/** Only `toNodeId` may win while this lasts. */
export interface TransferMark {
  readonly toNodeId: string;
  readonly leftMs: number;
  /** A server knows the successor to be waiting, and to be ready unless `allowCold`; only then is the leader told. */
  readonly ready: boolean;
  readonly by: string | null;
  /** The operator has allowed a successor that still prepares. */
  readonly allowCold?: true;
}

export interface PauseMark {
  /** `null`: until resumed. */
  readonly leftMs: number | null;
}

/** What an operator has set. */
export interface GroupConfig {
  readonly policy: GroupPolicy;
  readonly allowedNodes: readonly string[] | null;
}

export interface ElectionRecord {
  /** The highest term ever granted. */
  readonly term: number;
  readonly holder: Holder | null;
  /** What is left of the holder's lease; 0 when it is over, or when there is no holder. */
  readonly holdMs: number;
  /** The holder was asked to go: it may neither renew nor be confirmed. */
  readonly deposed: { readonly by: string } | null;
  readonly bans: readonly Ban[];
  readonly transfer: TransferMark | null;
  readonly pause: PauseMark | null;
  /** What is left of the takeover delay. */
  readonly delayMs: number;
  readonly ended: EndedTerm | null;
  /** Of the last event. Survives deletion, as the term does. */
  readonly eventNumber: number;
  /** The last four, oldest first. */
  readonly events: readonly LeadershipEvent[];
  /** `null` for a group that exists only because somebody campaigned in it. */
  readonly config: GroupConfig | null;
  /**
   * The node whose campaign made the group, where groups per node are limited. It decides nothing about who may win, and
   * counts only while `config` is `null`.
   */
  readonly founder: string | null;
  /** Emptied by an operator, and neither led nor configured since. Then the record is a tombstone. */
  readonly deleted: boolean;
}

export const EVENTS_IN_RECORD = 4;

const NONE: readonly never[] = Object.freeze([]);

export const EMPTY_RECORD: ElectionRecord = Object.freeze({
  term: 0,
  holder: null,
  holdMs: 0,
  deposed: null,
  bans: NONE,
  transfer: null,
  pause: null,
  delayMs: 0,
  ended: null,
  eventNumber: 0,
  events: NONE,
  config: null,
  founder: null,
  deleted: false,
});

/** A record as this process has seen it: this very revision, for `ageMs` on its own monotonic clock. */
export interface Observation {
  readonly record: ElectionRecord;
  readonly ageMs: number;
}

export function policyOf(record: ElectionRecord): GroupPolicy {
  return record.config?.policy ?? DEFAULT_POLICY;
}

/** A node led it, or an operator configured or paused it, and nobody has deleted it since. */
export function groupExists(record: ElectionRecord): boolean {
  return record !== EMPTY_RECORD && !record.deleted;
}

/** Whom to name as the leader: one that was asked to go is none any more, though its lease still runs. */
export function standingHolder(record: ElectionRecord): Holder | null {
  return record.deposed === null ? record.holder : null;
}

/** A missing instance equals a missing one, and never a given one. */
export function isHeldBy(record: ElectionRecord, nodeId: string, instanceId: string | null): boolean {
  return record.holder !== null && record.holder.nodeId === nodeId && record.holder.instanceId === instanceId;
}
