/**
 * One record per group, never deleted: everything that decides who may win. Its times are durations that were left at
 * the write that stored them. Each observer counts them from its own first sight of that revision.
 *
 * It is small, because every renewal rewrites it; the longer history has a key of its own.
 */
import type { EndReason, LeadershipEvent } from "./event.js";
import type { Metadata } from "./elector.js";
import type { OperatorAct, Order } from "./operator-act.js";
import { DEFAULT_POLICY, type GroupPolicy } from "./policy.js";

export interface Holder {
  readonly nodeId: string;
  readonly instanceId: string | null;
  readonly ttlMs: number;
  readonly priority: number;
  readonly metadata: Metadata | null;
}

/** How the last ended term ended, so that a repeated resign can be distinguished from a loss. */
export interface EndedTerm {
  readonly term: number;
  readonly nodeId: string;
  readonly instanceId: string | null;
  readonly reason: EndReason;
}

export interface Ban {
  readonly nodeId: string;
  readonly leftMs: number;
  /** Absent: written by a version that did not keep it. */
  readonly order?: Order;
}

/** Only `toNodeId` may win while this lasts. */
export interface TransferMark {
  readonly toNodeId: string;
  readonly leftMs: number;
  /** A server knows that the successor waits, and is ready unless `allowCold`. Only then is the leader asked to yield. */
  readonly ready: boolean;
  readonly by: string | null;
  /** The operator has allowed a successor that still prepares. */
  readonly allowCold?: true;
}

export interface PauseMark {
  /** `null`: until resumed. */
  readonly leftMs: number | null;
  /** As in `Ban`. */
  readonly order?: Order;
}

/** The part of a group that an operator has set. */
export interface GroupConfig {
  readonly policy: GroupPolicy;
  readonly allowedNodes: readonly string[] | null;
}

export interface ElectionRecord {
  /** The highest term ever granted. */
  readonly term: number;
  readonly holder: Holder | null;
  /** What is left of the holder's lease; 0 if the lease is over or there is no holder. */
  readonly holdMs: number;
  /** The holder was asked to step down: it can neither renew nor be confirmed. */
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
  /** The last act of an operator. Survives deletion, so that its number and the deletion itself are known. */
  readonly act: OperatorAct | null;
  /** `null` for a group that exists only because a node campaigned in it. */
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
  act: null,
  config: null,
  founder: null,
  deleted: false,
});

/** A record as this process has seen it: this revision, for `ageMs` on the process's own monotonic clock. */
export interface Observation {
  readonly record: ElectionRecord;
  readonly ageMs: number;
}

export function policyOf(record: ElectionRecord): GroupPolicy {
  return record.config?.policy ?? DEFAULT_POLICY;
}

/** A node has led the group, or an operator has configured or paused it, and it was not deleted since. */
export function groupExists(record: ElectionRecord): boolean {
  return record !== EMPTY_RECORD && !record.deleted;
}

/** The holder to show as leader. A deposed holder is no longer shown, though its lease still runs. */
export function standingHolder(record: ElectionRecord): Holder | null {
  return record.deposed === null ? record.holder : null;
}

/** Two missing instance ids are equal; a missing id never equals a given one. */
export function isHeldBy(record: ElectionRecord, nodeId: string, instanceId: string | null): boolean {
  return record.holder !== null && record.holder.nodeId === nodeId && record.holder.instanceId === instanceId;
}
