import type { Reading } from "../clock.js";
import type { EndReason, LeadershipEvent } from "../event.js";
import {
  EVENTS_IN_RECORD,
  type ElectionRecord,
  type Holder,
  type Observation,
  policyOf,
  type TransferMark,
} from "../record.js";

/** When and on whose behalf something is written; for the events only. */
export interface Stamp {
  readonly wallMs: number;
  readonly by?: string | undefined;
}

export function stampOf({ wallMs }: Reading, by?: string): Stamp {
  return { wallMs, by };
}

/** A write that the rules ask for. */
export interface Change {
  readonly next: ElectionRecord;
  /** What `next` adds to the record's events. */
  readonly events: readonly LeadershipEvent[];
}

/** The one way in which events get into a record: numbered on, the last four kept. */
function withEvent(record: ElectionRecord, event: Omit<LeadershipEvent, "number">): Change {
  const numbered: LeadershipEvent = { number: record.eventNumber + 1, ...event };
  return {
    next: {
      ...record,
      eventNumber: numbered.number,
      events: [...record.events, numbered].slice(-EVENTS_IN_RECORD),
    },
    events: [numbered],
  };
}

/**
 * How long, at most, a vacancy is kept for the successor of a transfer. The successor was known to wait when the leader
 * was asked to yield; a server needs one look at the vacancy to grant it. If the successor or its server died meanwhile,
 * the others must not wait for the rest of the transfer's limit.
 */
const MAX_RESERVED_MS = 2_000;

/**
 * Ends the holder's term: a vacancy and one event. A deposed leader's term ends as `deposed`, however it came to it.
 * Only an expired lease starts the takeover delay. A transfer outlasts the term only if its successor was known to
 * wait and the lease did not run out: then the vacancy is reserved for the successor, for a short time.
 */
export function endTerm(
  now: ElectionRecord,
  holder: Holder,
  how: EndReason,
  stamp: Stamp,
  silentMs?: number,
): Change {
  const reason = now.deposed === null ? how : "deposed";
  const by = now.deposed?.by ?? stamp.by ?? (reason === "transferred" ? now.transfer?.by : null) ?? undefined;
  return withEvent(
    {
      ...now,
      holder: null,
      holdMs: 0,
      deposed: null,
      transfer: how === "expired" ? null : reserved(now.transfer),
      delayMs: reason === "expired" ? policyOf(now).takeoverDelayMs : 0,
      ended: { term: now.term, nodeId: holder.nodeId, instanceId: holder.instanceId, reason },
    },
    {
      type: "LEADER_LOST",
      term: now.term,
      leaderNodeId: null,
      previousLeaderNodeId: holder.nodeId,
      reason,
      tsMs: stamp.wallMs,
      ...(by === undefined ? {} : { by }),
      ...(silentMs === undefined ? {} : { silentMs }),
    },
  );
}

/** Ends the term of a holder whose lease has expired; `null`: the group is vacant already. `now` is `seen` carried over. */
export function endExpired(seen: Observation, now: ElectionRecord, stamp: Stamp): Change | null {
  const { holder } = now;
  if (holder === null) return null;
  // Other writes than renewals carry the rest of the lease over, so the part that is missing has passed in silence, too.
  const silentMs = seen.ageMs + Math.max(0, holder.ttlMs - seen.record.holdMs);
  return endTerm(now, holder, "expired", stamp, Math.round(silentMs));
}

function reserved(transfer: TransferMark | null): TransferMark | null {
  if (transfer === null || !transfer.ready) return null;
  return { ...transfer, leftMs: Math.min(transfer.leftMs, MAX_RESERVED_MS) };
}

/** Fills a vacancy: the next term. Whatever held the vacancy back has been looked at before. */
export function beginTerm(vacant: ElectionRecord, holder: Holder, holdMs: number, stamp: Stamp): Change {
  const term = vacant.term + 1;
  return withEvent(
    { ...vacant, term, holder, holdMs, transfer: null, delayMs: 0, deleted: false },
    {
      type: "LEADER_CHANGED",
      term,
      leaderNodeId: holder.nodeId,
      previousLeaderNodeId: vacant.ended?.nodeId ?? null,
      reason: vacant.ended?.reason ?? "none",
      tsMs: stamp.wallMs,
    },
  );
}
