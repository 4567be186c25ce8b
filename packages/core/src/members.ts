/**
 * The nodes that were seen in a group: for people and operators, never for a decision. A node is seen by each campaign,
 * wait, renewal and heartbeat.
 */
import { isObject } from "./check.js";
import type { Metadata } from "./elector.js";

/** How often the last sight of a member is stored, and after how many silent periods the member is gone. */
export const SIGN_PERIOD_MS = 10_000;
const SILENT_PERIODS = 3;
/** A sight is stored once per period, so a healthy member may seem silent for almost two periods. */
const SUSPECT_PERIODS = 2;

export type HealthState = "healthy" | "suspect" | "down";

export function healthAfter(silentMs: number): HealthState {
  if (silentMs >= SIGN_PERIOD_MS * SILENT_PERIODS) return "down";
  return silentMs >= SIGN_PERIOD_MS * SUSPECT_PERIODS ? "suspect" : "healthy";
}

/** How long a member has been silent when it enters that state. */
export function silenceBefore(state: Exclude<HealthState, "healthy">): number {
  return SIGN_PERIOD_MS * (state === "down" ? SILENT_PERIODS : SUSPECT_PERIODS);
}

/** What a node reports when it is seen. `null`: nothing new. */
export interface Sign {
  readonly nodeId: string;
  /** Whether it has ever stood for election, or only sent heartbeats. */
  readonly isCandidate: boolean;
  readonly metadata: Metadata | null;
  /** Whether the node can work as soon as it leads. A node that never reported it counts as ready. */
  readonly ready: boolean | null;
}

export interface SeenMember extends Sign {
  /** Wall clock of the server that saw it. */
  readonly lastSignMs: number;
}

/** Format of a member page. A newer one has a higher number; every format is a JSON object with a numeric `v`. */
const FORMAT = 1;

/**
 * `isReady` is written for a cold member only, so that the pages of a group without warm standby do not change. A
 * version that does not know `isReady` ignores it and drops it when it writes the page; the member then counts as
 * ready.
 */
type MemberTuple = readonly [
  nodeId: string,
  lastSignMs: number,
  isCandidate: 0 | 1,
  metadata?: Metadata | null,
  isReady?: 0,
];

export type ReadPage =
  | { readonly kind: "members"; readonly members: readonly SeenMember[] }
  /** Written by a newer version: it must not be overwritten by this one. */
  | { readonly kind: "newer" }
  /** Readable by no version: the next write replaces it. */
  | { readonly kind: "damaged" };

/**
 * Largest size of a page in bytes. 256 members with the longest names fit, and every store accepts values at least
 * fifteen times as large (`StoreLimits.valueBytes`).
 */
const MAX_PAGE_BYTES = 65_536;

/**
 * Encodes `members`, the last seen first. What does not fit is left out: metadata before members, and in both cases the
 * longest silent first. A reader keeps the metadata that it knows.
 */
export function encodeMembers(members: readonly SeenMember[]): string {
  let leftBytes = MAX_PAGE_BYTES - encodeRows([]).length;
  const rows: string[] = [];
  for (const member of members) {
    const row = encodeRow(member, null);
    leftBytes -= Buffer.byteLength(row) + 1;
    if (leftBytes < 0) break;
    rows.push(row);
  }
  for (const [index, row] of rows.entries()) {
    const member = members[index];
    if (member === undefined || member.metadata === null) continue;
    const whole = encodeRow(member, member.metadata);
    leftBytes -= Buffer.byteLength(whole) - Buffer.byteLength(row);
    if (leftBytes < 0) break;
    rows[index] = whole;
  }
  return encodeRows(rows);
}

function encodeRow(
  { nodeId, lastSignMs, isCandidate, ready }: SeenMember,
  metadata: Metadata | null,
): string {
  const base = [nodeId, lastSignMs, isCandidate ? 1 : 0] as const;
  const row: MemberTuple =
    ready === false ? [...base, metadata, 0] : metadata === null ? base : [...base, metadata];
  return JSON.stringify(row);
}

function encodeRows(rows: readonly string[]): string {
  return `{"v":${FORMAT},"m":[${rows.join(",")}]}`;
}

/** Never throws: members are for people, and an unreadable page affects nothing else. */
export function decodeMembers(value: string): ReadPage {
  const page = parsePage(value);
  if (page === null || typeof page["v"] !== "number") return { kind: "damaged" };
  if (page["v"] > FORMAT) return { kind: "newer" };
  const rows = page["m"];
  if (page["v"] !== FORMAT || !Array.isArray(rows)) return { kind: "damaged" };
  return { kind: "members", members: rows.map(decodeRow).filter((member) => member !== null) };
}

function parsePage(value: string): Readonly<Record<string, unknown>> | null {
  try {
    const page: unknown = JSON.parse(value);
    return isObject(page) ? page : null;
  } catch {
    return null;
  }
}

function decodeRow(row: unknown): SeenMember | null {
  if (!Array.isArray(row)) return null;
  const [nodeId, lastSignMs, isCandidate, metadata, isReady] = row as readonly unknown[];
  if (typeof nodeId !== "string" || typeof lastSignMs !== "number") return null;
  return {
    nodeId,
    lastSignMs,
    isCandidate: isCandidate === 1,
    metadata: isObject(metadata) ? metadata : null,
    ready: isReady !== 0,
  };
}

/** The later sight of each member counts. What a member reported stays until it reports something else. */
export function mergeMembers(
  one: readonly SeenMember[],
  other: readonly SeenMember[],
): readonly SeenMember[] {
  const byNode = new Map(one.map((member) => [member.nodeId, member]));
  for (const member of other) {
    const known = byNode.get(member.nodeId);
    byNode.set(member.nodeId, known === undefined ? member : merged(known, member));
  }
  return [...byNode.values()];
}

function merged(one: SeenMember, other: SeenMember): SeenMember {
  const [older, newer] = one.lastSignMs <= other.lastSignMs ? [one, other] : [other, one];
  return {
    ...newer,
    isCandidate: older.isCandidate || newer.isCandidate,
    metadata: newer.metadata ?? older.metadata,
    ready: newer.ready ?? older.ready,
  };
}
