import type { ElectionRecord } from "@tenure/core/internal";
import type { SimServer } from "../sim-server.js";
import type { GroupTruth, RecordWrite } from "../truth.js";
import type { Standing } from "../waiting-rooms.js";
import {
  type Candidate,
  type Check,
  type CheckContext,
  type Lead,
  leftMs,
  mayWin,
  type Participant,
} from "./check.js";

/** After all has settled. */
const FIRST_LEADER_MS = 2000;
const MAX_GAP_MS = 2500;
/** Several writes in a row, each after a read of the result of the last one. */
const VACANT_MS = 700;
const NOTICED_MS = 700;
/** For how long a server keeps the place of a candidate whose wait has ended, by any clock. */
const PLACE_KEPT_MS = 1100;
const TAKEN_BACK_MS = 100;
const CALLS_IN_A_ROW = 8;
const CALLS_TO_TAKE_BACK = 4;
/** A store whose calls take longer than this part of a lease is not fast enough for it. */
const FAST_ENOUGH = 0.1;

/**
 * What must happen in time once there are no faults, checked continuously.
 * L1: a leader soon after the faults have ended, and none missing for long from then on.
 * L6: no vacancy while a candidate waits that may win.
 * L7: a leader is asked to yield to a waiting successor, or to a challenger if the policy lets it take over.
 * L8: what a disconnected client has won is taken back.
 * L9: no lease is lost that its leader renews.
 * Groups whose leases are too short for the store are not judged.
 */
export class NoGaps implements Check {
  readonly #context: CheckContext;
  readonly #leads = new Map<string, Lead>();
  readonly #lastLed = new Map<string, number>();
  /** Per group, since when it can be won. */
  readonly #freeSince = new Map<string, number>();
  /** When a server with a waiting campaign was last seen not to run: it has to catch up first. */
  readonly #stoodStillMs = new WeakMap<SimServer, number>();
  readonly #ghosts = new Set<RecordWrite>();
  readonly #stopped = new Set<Lead["led"]>();
  readonly #judged: readonly GroupTruth[];
  readonly #someCallsMs: number;

  constructor(context: CheckContext) {
    this.#context = context;
    this.#judged = context.groups.filter(({ longestTtlMs }) => context.callMs <= longestTtlMs * FAST_ENOUGH);
    this.#someCallsMs = CALLS_IN_A_ROW * context.callMs;
  }

  onStop({ led, process, groupId }: Lead, how: "ended" | "lapsed"): void {
    this.#stopped.add(led);
    if (how === "ended" || this.#context.nowMs() < this.#context.chaosMs + this.#context.settledMs) return;
    if (this.#judged.some((truth) => truth.groupId === groupId))
      this.#context.fail("L9", `${process.name} renews term ${led.term} of ${groupId}, and has to stop`);
  }

  onLead(lead: Lead): void {
    this.#leads.set(lead.groupId, lead);
    this.#lastLed.set(lead.groupId, this.#context.nowMs());
  }

  /** L10 judges what follows. */
  onCrashed(participant: Participant): void {
    this.#waitForLease(participant);
  }

  /** Its server cannot take the lease back: to the server, the answer was delivered. */
  onWinGivenUp(candidate: Candidate): void {
    this.#waitForLease(candidate);
  }

  /** A lease whose holder is gone without any fault around has to end first. */
  #waitForLease({ process, groupId, ttlMs }: Candidate): void {
    const { record } = this.#context.truth(groupId);
    if (record === null || record.holder?.instanceId !== process.instanceId) return;
    const delayMs = record.config?.policy.takeoverDelayMs ?? 0;
    this.#lastLed.set(groupId, this.#context.nowMs() + ttlMs + delayMs);
  }

  onWrite(write: RecordWrite): void {
    const { groupId, record, events, server, atMs } = write;
    const { holder } = record;
    if (atMs < this.#context.chaosMs + this.#context.settledMs) return;
    if (events.some((event) => event.reason === "expired")) this.#checkExpiry(write);
    if (holder === null) return;
    if (!events.some((event) => event.type === "LEADER_CHANGED")) return;
    const own = this.#context.rooms
      .of(groupId)
      .filter(({ request }) => request.nodeId === holder.nodeId)
      .filter(({ request }) => (request.instanceId ?? null) === holder.instanceId)
      .filter((each) => each.server.name === server);
    if (own.length > 0 && own.every(({ goneAtMs }) => goneAtMs !== null)) this.#ghosts.add(write);
  }

  onTick(): void {
    for (const [groupId, lead] of this.#leads) {
      if (!lead.process.clock.isKilled && leftMs(lead) > 0) this.#lastLed.set(groupId, this.#context.nowMs());
    }
    const quietMs = this.#context.nowMs() - this.#context.chaosMs;
    for (const truth of this.#judged) {
      // A paused group needs no leader.
      if ((truth.record?.pause ?? null) !== null)
        this.#lastLed.set(truth.groupId, this.#context.nowMs() + this.#context.resumedMs);
      // Where servers stop answering candidates are so few that all may be gone; L10 judges what follows a leader there.
      if (quietMs >= this.#context.settledMs + FIRST_LEADER_MS && this.#context.noticedMs === 0)
        this.#checkLed(truth);
      if (quietMs >= this.#context.settledMs) {
        this.#checkVacancy(truth);
        this.#checkNoticed(truth);
      }
    }
    for (const ghost of this.#ghosts) this.#checkTakenBack(ghost);
  }

  #checkLed({ groupId, longestTtlMs }: GroupTruth): void {
    const gapMs = this.#context.nowMs() - (this.#lastLed.get(groupId) ?? 0);
    if (gapMs > Math.max(MAX_GAP_MS, 2 * longestTtlMs))
      this.#context.fail("L1", `${groupId} has had no leader for ${gapMs.toFixed(0)} ms`);
  }

  #checkVacancy({ groupId, last }: GroupTruth): void {
    const nowMs = this.#context.nowMs();
    if (last === null || !this.#isFree(last)) {
      this.#freeSince.delete(groupId);
      return;
    }
    for (const { server } of this.#context.rooms.waiting(groupId))
      if (server.process?.clock.isRunning !== true) this.#stoodStillMs.set(server, nowMs);
    const sinceMs = this.#freeSince.get(groupId) ?? nowMs;
    this.#freeSince.set(groupId, sinceMs);
    const vacantMs = VACANT_MS + this.#someCallsMs;
    if (nowMs - sinceMs < vacantMs) return;
    for (const each of this.#context.rooms.waiting(groupId)) {
      if (nowMs - each.arrivedMs < vacantMs || !isThere(each) || !mayWin(last.record, each.request)) continue;
      if (nowMs - (this.#stoodStillMs.get(each.server) ?? Number.NEGATIVE_INFINITY) < vacantMs) continue;
      this.#context.fail(
        "L6",
        `${groupId} is free since ${sinceMs.toFixed(0)}, and ${each.request.nodeId} waits at ${each.server.name} ` +
          `since ${each.arrivedMs.toFixed(0)}`,
      );
    }
  }

  /** Vacant or expired, with nothing that holds it back: neither a pause, nor a delay, nor a successor that waits. */
  #isFree({ groupId, record, atMs }: RecordWrite): boolean {
    const ageMs = (this.#context.nowMs() - atMs) * (1 - this.#context.driftRatio);
    const { holder, holdMs, pause, delayMs, transfer } = record;
    if (holder !== null && ageMs < holdMs) return false;
    if (pause !== null && (pause.leftMs === null || ageMs < pause.leftMs)) return false;
    if (ageMs < delayMs) return false;
    if (transfer === null || ageMs >= transfer.leftMs || holder !== null) return true;
    // A vacancy is reserved only for a successor that waits, or that may return because its place is kept.
    const keptSinceMs = this.#context.nowMs() - PLACE_KEPT_MS;
    return !this.#context.rooms
      .of(groupId)
      .filter(({ goneAtMs, leftAtMs }) => goneAtMs === null && (leftAtMs ?? keptSinceMs) >= keptSinceMs)
      .some(({ request }) => request.nodeId === transfer.toNodeId);
  }

  #checkNoticed({ groupId, last }: GroupTruth): void {
    if (last === null) return;
    const { record } = last;
    const { holder, transfer, deposed, pause, config } = record;
    const nowMs = this.#context.nowMs();
    if (holder === null || deposed !== null || pause !== null || nowMs - last.atMs > record.holdMs) return;
    const sinceMs = noticeableSince(last);
    const noticedMs = NOTICED_MS + this.#someCallsMs;
    if (nowMs - sinceMs < noticedMs) return;
    const waiting = this.#context.rooms
      .waiting(groupId)
      .filter((each) => nowMs - each.arrivedMs >= noticedMs && isThere(each) && mayWin(record, each.request));
    for (const { request, server } of waiting) {
      if (request.ready === false && transfer?.allowCold !== true) continue;
      const isSuccessor = transfer !== null && !transfer.ready && transfer.toNodeId === request.nodeId;
      const challenges =
        transfer === null && config?.policy.preempt === true && (request.priority ?? 0) > holder.priority;
      if (!isSuccessor && !challenges) continue;
      this.#context.fail(
        "L7",
        `${request.nodeId} waits at ${server.name} to take over from ${holder.nodeId}, and the leader is not asked to yield`,
      );
    }
  }

  /** Leaders that ended their work without resigning, and those that are gone, lose their lease as expected. */
  #checkExpiry({ groupId, previous }: RecordWrite): void {
    const lead = this.#leads.get(groupId);
    if (lead === undefined || lead.led.term !== previous?.record.term) return;
    if (!this.#judged.some((truth) => truth.groupId === groupId)) return;
    if (this.#stopped.has(lead.led) || lead.process.clock.isKilled) return;
    this.#context.fail(
      "L9",
      `${lead.process.name} renews term ${lead.led.term} of ${groupId}, which expires`,
    );
  }

  #checkTakenBack(ghost: RecordWrite): void {
    if (this.#context.nowMs() - ghost.atMs < TAKEN_BACK_MS + CALLS_TO_TAKE_BACK * this.#context.callMs)
      return;
    this.#ghosts.delete(ghost);
    if (this.#context.truth(ghost.groupId).last !== ghost) return;
    this.#context.fail(
      "L8",
      `${ghost.record.holder?.nodeId} was gone when ${ghost.server} elected it in term ${ghost.record.term}, which stands`,
    );
  }
}

function isThere({ server, leftAtMs }: Standing): boolean {
  return leftAtMs === null && server.process?.clock.isRunning === true;
}

/** Since when the record shows the same holder, policy and transfer. */
function noticeableSince(last: RecordWrite): number {
  let write = last;
  while (write.previous !== null && isAlike(write.previous.record, last.record)) write = write.previous;
  return write.atMs;
}

function isAlike(before: ElectionRecord, now: ElectionRecord): boolean {
  return (
    before.term === now.term &&
    before.holder !== null &&
    before.pause === null &&
    before.transfer?.toNodeId === now.transfer?.toNodeId &&
    before.config?.policy.preempt === now.config?.policy.preempt
  );
}
