/**
 * What this server does unasked, for all its groups: ends leases that are over, gives vacancies to waiting campaigns,
 * ends waits, repairs histories.
 */
import type { Reading } from "../clock.js";
import type { CampaignResult } from "../elector.js";
import { onAbort } from "../on-abort.js";
import type { Observation } from "../record.js";
import { attend } from "../rules/attend.js";
import { stampOf } from "../rules/terms.js";
import { Agenda } from "./agenda.js";
import type { Campaigns } from "./campaigns.js";
import type { Engine, Step } from "./engine.js";
import type { GroupState } from "./group-state.js";
import type { Waiter } from "./waiter.js";

/** After a failure, and before mending what another server should have written. */
const RETRY_MS = 250;
const REPAIR_MS = 1000;

const REST = { kind: "stay", value: null } as const;

export class Attendance {
  readonly #engine: Engine;
  readonly #campaigns: Campaigns;
  readonly #random: () => number;
  readonly #agenda: Agenda<GroupState>;
  #closed = false;

  constructor(engine: Engine, campaigns: Campaigns, random: () => number) {
    this.#engine = engine;
    this.#campaigns = campaigns;
    this.#random = random;
    this.#agenda = new Agenda(engine.clock, (group) => this.look(group));
  }

  /** Called when the record has changed, a campaign has come to wait, or a time has come. Cheap when nothing is to do. */
  look(group: GroupState): void {
    if (this.#closed || group.isUnreadable) return;
    const now = this.#engine.now();
    const nowMs = now.monotonicMs;
    for (const waiter of group.waiters) {
      if (waiter.endsAtMs <= nowMs && !waiter.named) this.#campaigns.endWait(group, waiter);
    }
    const decision = attend(group.observation(now), group.present(), stampOf(now));
    if (decision.kind === "rest") {
      this.#plan(group, nowMs, decision.lookAgainMs ?? Number.POSITIVE_INFINITY);
    } else {
      this.#plan(group, nowMs, RETRY_MS);
      void this.#attend(group);
    }
  }

  /** Queues a campaign that was not won at once. Its wait began when it arrived. */
  enqueue(group: GroupState, waiter: Waiter): Promise<CampaignResult> {
    const { signal } = waiter;
    const leave = () => {
      // A write in flight may be its own: then that decides, and takes back what it won.
      if (!waiter.named) group.removeWaiter(waiter);
      waiter.reject(signal?.reason);
    };
    group.addWaiter(waiter);
    const { nodeId, metadata } = waiter.candidate;
    const stopAttending = this.#engine.members?.attend(group.groupId, nodeId, metadata);
    if (stopAttending !== undefined) void waiter.answer.catch(() => {}).finally(stopAttending);
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
    this.#agenda.close();
    const waiting = [...this.#engine.groups.values()].filter((group) => group.waiters.length > 0);
    await Promise.all(
      waiting.flatMap((group) => group.waiters.map((waiter) => this.#campaigns.refuse(group, waiter))),
    );
  }

  #plan(group: GroupState, nowMs: number, lookAgainMs: number): void {
    let dueMs = nowMs + lookAgainMs;
    for (const waiter of group.waiters) dueMs = Math.min(dueMs, Math.max(waiter.endsAtMs, nowMs + 1));
    if (this.#engine.history.isBehind(group)) dueMs = Math.min(dueMs, this.#planRepair(group, nowMs));
    this.#agenda.set(group, dueMs);
  }

  /** Whoever wrote the event writes the history; only if that has not come after a while, somebody else does. */
  #planRepair(group: GroupState, nowMs: number): number {
    const repairAtMs = group.eventSeenAtMs + REPAIR_MS;
    if (repairAtMs > nowMs) return repairAtMs + REPAIR_MS * this.#random();
    this.#engine.keepHistory(group);
    return nowMs + REPAIR_MS * (1 + this.#random());
  }

  async #attend(group: GroupState): Promise<void> {
    if (group.attending) return;
    group.attending = true;
    try {
      await this.#engine.transact(group, (seen, now) => this.#step(group, seen, now));
      group.attending = false;
      this.look(group);
    } catch {
      group.attending = false;
      if (!this.#closed) this.#plan(group, this.#engine.now().monotonicMs, RETRY_MS * (1 + this.#random()));
    }
  }

  /** Goes on until there is nothing more to do. */
  #step(group: GroupState, seen: Observation, now: Reading): Step<null> {
    if (this.#closed) return REST;
    // Deleted while they waited, where groups must exist: they hear so.
    if (!this.#engine.exists(seen.record))
      for (const each of group.present()) this.#campaigns.endWait(group, each);
    const decision = attend(seen, group.present(), stampOf(now));
    if (decision.kind === "rest") return REST;
    if (decision.kind === "write") return { kind: "write", change: decision, written: "decide again" };
    const { waiter } = decision;
    const campaign = this.#campaigns.decide(seen, now, waiter.candidate);
    switch (campaign.kind) {
      case "elect":
      case "confirm":
        return this.#campaigns.grant(group, now, waiter, campaign, "decide again");
      case "expire":
        return { kind: "write", change: campaign, written: "decide again" };
      case "lose":
        return REST;
      case "not-allowed":
      case "invalid-ttl":
        // The policy has changed since it came: let it hear so.
        this.#campaigns.endWait(group, waiter);
        return REST;
    }
  }
}
