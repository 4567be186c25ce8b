/**
 * One thing that needs an operator's attention. The attention list of a server, `tenure doctor`, the metrics, the alert rules and the
 * webhooks all show findings of these kinds, made by the functions of this folder, so that they cannot disagree.
 */
import type { shapes } from "../schemas/verb-schemas.js";

/**
 * `problem`: a group cannot work, or soon cannot. `warning`: it works, and will stop working if this goes on. `note`: worth knowing;
 * nothing has to be done at once.
 */
export type Severity = "problem" | "warning" | "note";

export type FindingKind = GroupFindingKind | "certificate_expiring" | "store_slow" | "store_unreachable";

export type GroupFindingKind = "vacant" | "flapping" | "missed_heartbeats" | "paused_long" | "no_standby";

export interface Finding {
  readonly kind: FindingKind;
  readonly severity: Severity;
  /** `null`: about the server, not about one group. */
  readonly groupId: string | null;
  /** Start of the situation in milliseconds since 1970, where it is known. */
  readonly sinceMs: number | null;
  /** One sentence. Its subject is the group or the server, which the sentence does not repeat. */
  readonly summary: string;
  /** What an operator does about it. */
  readonly nextStep: string;
}

export const FINDING_KINDS: readonly FindingKind[] = [
  "vacant",
  "flapping",
  "missed_heartbeats",
  "paused_long",
  "no_standby",
  "certificate_expiring",
  "store_slow",
  "store_unreachable",
];

export const SEVERITIES: readonly Severity[] = ["problem", "warning", "note"];

/** Orders findings: the most severe first, findings about the server before those about groups, then the oldest first. */
export function bySeverity(a: Finding, b: Finding): number {
  return (
    SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
    Number(a.groupId !== null) - Number(b.groupId !== null) ||
    (a.sinceMs ?? 0) - (b.sinceMs ?? 0) ||
    (a.groupId ?? "").localeCompare(b.groupId ?? "")
  );
}

export function findingShape({ groupId, sinceMs, nextStep, ...rest }: Finding): shapes.FindingShape {
  return { ...rest, group_id: groupId, since_ms: sinceMs, next_step: nextStep };
}

export function findingOf({ group_id, since_ms, next_step, ...rest }: shapes.FindingShape): Finding {
  return { ...rest, groupId: group_id, sinceMs: since_ms, nextStep: next_step };
}
