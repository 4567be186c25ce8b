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
      if (open !== null) spans.push(closed(open, atMs, event.reason, event.by));
      open = null;
      vacantSince = { fromMs: atMs, reason: event.reason };
    } else if (event.leader_node_id !== null) {
      if (open !== null) spans.push(closed(open, atMs, null));
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
  ended: EndReason | null,
  by?: string,
): LedSpan {
  return { ...open, toMs, ended, ...(by === undefined ? {} : { by }) };
}

export interface Failover {
  readonly atMs: number;
  readonly term: number;
  readonly nodeId: string;
  readonly previousNodeId: string;
  readonly reason: EndReason;
  /** From the vacancy to the next leader, as both were written down; 0: in one write. */
  readonly tookMs: number;
}

/** Each leader that followed another, oldest first. */
export function failoversOf(spans: readonly Span[]): readonly Failover[] {
  const found: Failover[] = [];
  let last: LedSpan | null = null;
  for (const span of spans) {
    if (span.kind === "gap") continue;
    if (last !== null) {
      found.push({
        atMs: span.fromMs,
        term: span.term,
        nodeId: span.nodeId,
        previousNodeId: last.nodeId,
        reason: last.ended ?? "none",
        tookMs: span.fromMs - last.toMs,
      });
    }
    last = span;
  }
  return found;
}
