import type { RecordWrite } from "../truth.js";
import type { Check, CheckContext, Lead } from "./check.js";

/** S2, S2b, S3: each term has one holder, which leads it in one stint; terms and event numbers only rise. */
export class OneHolder implements Check {
  readonly #context: CheckContext;
  readonly #holders = new Map<string, string>();
  readonly #leaders = new Map<string, Lead["process"]>();
  readonly #stopped = new Set<string>();

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onWrite({ groupId, record, previous, revision }: RecordWrite): void {
    const before = previous?.record;
    if (before !== undefined && record.term < before.term) {
      this.#context.fail(
        "S3",
        `the term falls from ${before.term} to ${record.term} at revision ${revision}`,
      );
    }
    const { holder, term } = record;
    if (holder === null) return;
    if (before !== undefined && term > before.term + 1) {
      this.#context.fail("S3", `the term leaps from ${before.term} to ${term} at revision ${revision}`);
    }
    const key = `${groupId} ${term}`;
    const who = `${holder.nodeId}#${holder.instanceId ?? "-"}`;
    const known = this.#holders.get(key);
    if (known === undefined) this.#holders.set(key, who);
    else if (known !== who) this.#context.fail("S2", `term ${term} is held by ${known}, then by ${who}`);
    else if (before !== undefined && before.holder === null && before.term === term) {
      this.#context.fail("S2b", `term ${term} had ended and is held by ${who} again`);
    }
  }

  onLead({ process, groupId, led }: Lead): void {
    const key = `${groupId} ${led.term}`;
    const known = this.#leaders.get(key);
    if (known === undefined) this.#leaders.set(key, process);
    else if (known !== process) {
      this.#context.fail("S2", `term ${led.term} is led by ${known.name}, then by ${process.name}`);
    }
    if (this.#stopped.has(key)) {
      this.#context.fail("S2b", `${process.name} leads term ${led.term} again after it had stopped`);
    }
  }

  onStop({ groupId, led }: Lead): void {
    this.#stopped.add(`${groupId} ${led.term}`);
  }
}
