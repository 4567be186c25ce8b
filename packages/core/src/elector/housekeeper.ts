/**
 * Decides when this server looks at a group without a request: at the end of a lease, a mark or a wait, when a record
 * has changed, and when a history is behind. What it does then is decided in `Campaigns.upkeep`.
 */
import type { CampaignResult } from "../elector.js";
import { onAbort } from "../async/on-abort.js";
import { stampOf } from "../rules/terms.js";
import { decideUpkeep } from "../rules/upkeep.js";
import type { Campaigns } from "./campaigns.js";
import { DeadlineQueue } from "./deadline-queue.js";
import type { Engine } from "./engine.js";
import type { GroupState } from "./group-state.js";
import type { Waiter } from "./waiter.js";

/** Pauses after a failure, and before repairing what another server should have written. */
const RETRY_MS = 250;
const REPAIR_MS = 1000;
/** Waits of one group that are ended in one turn of the event loop. */
const MAX_ENDED_AT_ONCE = 100;

export class Housekeeper {
  readonly #engine: Engine;
  readonly #campaigns: Campaigns;
  readonly #random: () => number;
  readonly #deadlines: DeadlineQueue<GroupState>;
  #closed = false;

  constructor(engine: Engine, campaigns: Campaigns, random: () => number) {
    this.#engine = engine;
    this.#campaigns = campaigns;
    this.#random = random;
    this.#deadlines = new DeadlineQueue(engine.clock, (group) => this.look(group));
    campaigns.onRequeued = (group) => this.look(group);
  }

  /**
   * Called when the record has changed, a campaign has arrived or left, or a deadline has come. Cheap if there is
   * nothing to do.
   */
  look(group: GroupState): void {
    if (this.#closed) return;
    const now = this.#engine.now();
    const nowMs = now.monotonicMs;
    for (const waiter of group.takeEnded(nowMs, MAX_ENDED_AT_ONCE)) this.#campaigns.endWait(group, waiter);
    // Nothing can be decided, but waits still end; their callers get BACKEND_UNAVAILABLE.
    if (group.isUnreadable) return this.#deadlines.set(group, this.#nextEndMs(group, nowMs));
    const decision = decideUpkeep(group.observation(now), group.waiters, stampOf(now));
    if (decision.kind === "rest") {
      this.#plan(group, nowMs, decision.lookAgainMs ?? Number.POSITIVE_INFINITY);
      // Of a deleted group with nothing left to do only a tombstone is kept.
      if (group.record.deleted) this.#engine.forget(group);
    } else {
      this.#plan(group, nowMs, RETRY_MS);
      void this.#upkeep(group);
    }
  }

  /** Queues a campaign that did not win at once. Its wait began when it arrived. */
  enqueue(group: GroupState, waiter: Waiter): Promise<CampaignResult> {
    const { signal } = waiter;
    const leave = () => {
      // A write in flight may be its own. Then that write decides first, and a term that it wins is given back.
      if (waiter.state !== "named") group.leave(waiter, this.#engine.now().monotonicMs);
      waiter.reject(signal?.reason);
      // It may have been the successor that a leader was asked to yield to.
      this.look(group);
    };
    group.enqueue(waiter);
    const stopWaiting = this.#engine.members?.startWaiting(group.groupId, waiter.sign);
    if (stopWaiting !== undefined) void waiter.answer.catch(() => {}).finally(stopWaiting);
    if (signal !== undefined) {
      const stopListening = onAbort(signal, leave);
      void waiter.answer.catch(() => {}).finally(stopListening);
      if (signal.aborted) leave();
    }
    if (this.#closed) void this.#campaigns.refuse(group, waiter);
    this.look(group);
    return waiter.answer;
  }

  /** Ends every wait and does nothing more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#campaigns.closing = true;
    this.#deadlines.close();
    const refusals: Promise<void>[] = [];
    for (const group of this.#engine.groups.values()) {
      for (const waiter of group.queue ?? []) refusals.push(this.#campaigns.refuse(group, waiter));
    }
    await Promise.all(refusals);
  }

  #plan(group: GroupState, nowMs: number, lookAgainMs: number): void {
    let dueMs = Math.min(nowMs + lookAgainMs, this.#nextEndMs(group, nowMs));
    if (this.#engine.history.isBehind(group)) dueMs = Math.min(dueMs, this.#planRepair(group, nowMs));
    this.#deadlines.set(group, dueMs);
  }

  /** Waits that have ended but were too many for one turn are handled in the next. */
  #nextEndMs(group: GroupState, nowMs: number): number {
    return Math.max(group.queue?.nextEndMs() ?? Number.POSITIVE_INFINITY, nowMs + 1);
  }

  /**
   * The server that wrote the event writes the history. Another server does so only if the history is still behind
   * after a while.
   */
  #planRepair(group: GroupState, nowMs: number): number {
    const repairAtMs = group.eventSeenAtMs + REPAIR_MS;
    if (repairAtMs > nowMs) return repairAtMs + REPAIR_MS * this.#random();
    this.#engine.keepHistory(group);
    return nowMs + REPAIR_MS * (1 + this.#random());
  }

  async #upkeep(group: GroupState): Promise<void> {
    if (group.inUpkeep) return;
    group.inUpkeep = true;
    try {
      await this.#engine.transact(group, (seen, now) => this.#campaigns.upkeep(group, seen, now));
      group.inUpkeep = false;
      this.look(group);
    } catch {
      group.inUpkeep = false;
      if (!this.#closed) this.#plan(group, this.#engine.now().monotonicMs, RETRY_MS * (1 + this.#random()));
    }
  }
}
