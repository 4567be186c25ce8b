import { type Check, type CheckContext, type Lead, leftMs } from "./check.js";

const FIRST_LEADER_MS = 4500;
const LONGEST_GAP_MS = 2500;

/** L1: a leader soon after the faults have ended, and none missing for long at the end. */
export class Liveness implements Check {
  readonly #context: CheckContext;
  readonly #leads = new Map<string, Lead>();
  readonly #lastSeen = new Map<string, number>();
  #isFirstChecked = false;

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onLead(lead: Lead): void {
    this.#leads.set(lead.groupId, lead);
    this.#lastSeen.set(lead.groupId, this.#context.nowMs());
  }

  onTick(): void {
    for (const [groupId, lead] of this.#leads) {
      if (!lead.process.clock.isKilled && leftMs(lead) > 0)
        this.#lastSeen.set(groupId, this.#context.nowMs());
    }
    const { chaosMs } = this.#context;
    if (this.#isFirstChecked || this.#context.nowMs() < chaosMs + FIRST_LEADER_MS) return;
    this.#isFirstChecked = true;
    for (const { groupId } of this.#context.groups) {
      if ((this.#lastSeen.get(groupId) ?? 0) < chaosMs) {
        this.#context.fail("L1", `${groupId} has no leader ${FIRST_LEADER_MS} ms after the faults ended`);
      }
    }
  }

  onEnd(): void {
    for (const { groupId } of this.#context.groups) {
      const gapMs = this.#context.nowMs() - (this.#lastSeen.get(groupId) ?? 0);
      if (gapMs > LONGEST_GAP_MS)
        this.#context.fail("L1", `${groupId} has had no leader for ${gapMs.toFixed(0)} ms at the end`);
    }
  }
}
