import type { RecordWrite } from "../truth.js";
import { type Check, type CheckContext, type Lead, leftMs } from "./check.js";

/**
 * S1: never two clients inside their deadlines. A client's time inside begins or goes on only with an answer, so it is
 * enough to look at every answer. A leader freed by force is not waited for; its term fences it.
 */
export class OneLeader implements Check {
  readonly #context: CheckContext;
  readonly #leads = new Map<string, Set<Lead>>();
  readonly #forced = new Set<string>();

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onWrite({ groupId, record, events, previous }: RecordWrite): void {
    const lost = events.find((event) => event.type === "LEADER_LOST");
    if (lost?.reason !== "deposed") return;
    const byForce = record.deleted || lost.by?.endsWith("force") === true;
    if (byForce) this.#forced.add(`${groupId} ${previous?.record.term ?? lost.term}`);
  }

  onLead(lead: Lead): void {
    const leads = this.#leads.get(lead.groupId) ?? new Set<Lead>();
    this.#leads.set(lead.groupId, leads);
    for (const other of leads) {
      if (other.process === lead.process || this.#forced.has(`${other.groupId} ${other.led.term}`)) continue;
      if (other.process.clock.isKilled || leftMs(other) <= 0) {
        leads.delete(other);
      } else if (!this.#forced.has(`${lead.groupId} ${lead.led.term}`)) {
        this.#context.fail(
          "S1",
          `${lead.process.name} leads term ${lead.led.term} for ${leftMs(lead).toFixed(1)} ms, ` +
            `${other.process.name} leads term ${other.led.term} for ${leftMs(other).toFixed(1)} ms`,
        );
      }
    }
    for (const known of leads) if (known.process === lead.process && known.led === lead.led) return;
    leads.add(lead);
  }
}
