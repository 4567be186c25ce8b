/** Who led when, out of a group's history. Times are those that servers wrote down: for people, never for decisions. */
import type { EndReason, HistoryEvent } from "./wire.js";

export interface LedSpan {
  readonly kind: "led";
  readonly nodeId: string;
  readonly term: number;
  readonly fromMs: number;
  readonly toMs: number;
  /** The history no longer holds how it began: it is older than `fromMs`. */
  readonly isCut: boolean;
  /** `null` while it lasts, or where nobody wrote down how it ended. */
  readonly ended: EndReason | null;
  readonly by?: string;
  /** For how long before its end the leader had not been heard of; it may have stopped acting then. */
  readonly silentMs?: number;
}

export interface Gap {
  readonly kind: "gap";
  readonly fromMs: number;
  readonly toMs: number;
  /** How the term before it ended. */
  readonly reason: EndReason;
  /** It still lasts. */
  readonly isOpen: boolean;
}

export type Span = LedSpan | Gap;

/** `events` oldest first. A handover in one write leaves no gap; every other vacancy is a span of its own. */
export function buildTimeline(events: readonly HistoryEvent[], nowMs: number): readonly Span[] {
  const spans: Span[] = [];
  let open: Omit<LedSpan, "toMs" | "ended"> | null = null;
  let vacantSince: { readonly fromMs: number; readonly reason: EndReason } | null = null;
  let lastMs = events[0]?.ts_ms ?? nowMs;
  for (const event of events) {
    // Servers whose clocks differ write times that go back; the order of events is what is certain.
    const atMs = Math.max(event.ts_ms, lastMs);
    lastMs = atMs;
    if (event.type === "LEADER_LOST") {
      const nodeId = event.previous_leader_node_id;
      open ??= nodeId === null ? null : { kind: "led", nodeId, term: event.term, fromMs: atMs, isCut: true };
      if (open !== null) spans.push(closed(open, atMs, event));
      open = null;
      vacantSince = { fromMs: atMs, reason: event.reason };
    } else if (event.leader_node_id !== null) {
      if (open !== null) spans.push({ ...open, toMs: atMs, ended: null });
      if (vacantSince !== null && atMs > vacantSince.fromMs) {
        spans.push({ kind: "gap", ...vacantSince, toMs: atMs, isOpen: false });
      }
      vacantSince = null;
      open = { kind: "led", nodeId: event.leader_node_id, term: event.term, fromMs: atMs, isCut: false };
    }
  }
  const endMs = Math.max(nowMs, lastMs);
  if (open !== null) spans.push({ ...open, toMs: endMs, ended: null });
  else if (vacantSince !== null) spans.push({ kind: "gap", ...vacantSince, toMs: endMs, isOpen: true });
  return spans;
}

function closed(
  open: Omit<LedSpan, "toMs" | "ended">,
  toMs: number,
  { reason, by, silent_ms }: HistoryEvent,
): LedSpan {
  return {
    ...open,
    toMs,
    ended: reason,
    ...(by === undefined ? {} : { by }),
    ...(silent_ms === undefined ? {} : { silentMs: silent_ms }),
  };
}

export interface Failover {
  readonly atMs: number;
  readonly term: number;
  readonly nodeId: string;
  readonly previousNodeId: string;
  readonly reason: EndReason;
  /** From the last sign of the old leader to the next leader: for so long nobody may have acted. 0: a handover in one write. */
  readonly tookMs: number;
  /** The part of it before the old term ended. */
  readonly silentMs: number;
}

/** Each leader that followed another, oldest first. */
export function failoversOf(spans: readonly Span[]): readonly Failover[] {
  const found: Failover[] = [];
  let last: LedSpan | null = null;
  for (const span of spans) {
    if (span.kind === "gap") continue;
    if (last !== null) {
      const silentMs = last.silentMs ?? 0;
      found.push({
        atMs: span.fromMs,
        term: span.term,
        nodeId: span.nodeId,
        previousNodeId: last.nodeId,
        reason: last.ended ?? "none",
        tookMs: span.fromMs - last.toMs + silentMs,
        silentMs,
      });
    }
    last = span;
  }
  return found;
}

export interface ChangeRate {
  readonly changes: number;
  /** From the first event that is kept until now: nothing is known of the time before. */
  readonly spanMs: number;
}

/** How often the leader changed; `null` if the history is empty. */
export function changeRate(events: readonly HistoryEvent[], nowMs: number): ChangeRate | null {
  const [first] = events;
  if (first === undefined) return null;
  const changes = events.filter(
    ({ type, number }) => type === "LEADER_CHANGED" && number > first.number,
  ).length;
  return { changes, spanMs: Math.max(0, nowMs - first.ts_ms) };
}
