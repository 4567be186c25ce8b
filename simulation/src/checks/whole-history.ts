import type { LeadershipEvent } from "@tenure/core";
import type { GroupTruth, RecordWrite } from "../truth.js";
import type { Check, CheckContext } from "./check.js";

const KEPT = 64;

/**
 * S6h: record and history together hold the last 64 events at every moment, each once and as it was written. Events
 * before the last one of a deleted group are the exception: the deletion drops them.
 */
export class WholeHistory implements Check {
  readonly #context: CheckContext;

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onWrite({ groupId, record, revision }: RecordWrite): void {
    const truth = this.#context.truth(groupId);
    const lastKept = truth.history.at(-1)?.number ?? 0;
    const firstInRecord = record.eventNumber - record.events.length + 1;
    if (firstInRecord > Math.max(lastKept + 1, truth.deletedAt(record.eventNumber))) {
      this.#context.fail(
        "S6h",
        `revision ${revision} pushes events ${lastKept + 1} to ${firstInRecord - 1} out of the record, the history lacks them`,
      );
    }
  }

  onHistory(truth: GroupTruth, before: readonly LeadershipEvent[]): void {
    const { history, events } = truth;
    const last = history.at(-1)?.number ?? 0;
    if (last < (before.at(-1)?.number ?? 0)) {
      this.#context.fail("S6h", `the history falls back from event ${before.at(-1)?.number} to ${last}`);
    }
    const first = Math.max(1, truth.deletedAt(last), last - KEPT + 1);
    const kept = history.filter(({ number }) => number >= first);
    const isWhole =
      history.length <= KEPT &&
      kept.length === last - first + 1 &&
      kept.every((event, index) => event.number === first + index);
    if (!isWhole) {
      this.#context.fail("S6h", `the history holds ${history.map((event) => event.number).join(" ")}`);
    }
    for (const event of history) {
      const written = events.get(event.number);
      if (written !== undefined && (written.term !== event.term || written.type !== event.type)) {
        this.#context.fail("S6h", `the history holds event ${event.number} otherwise than it was written`);
      }
    }
  }

  /** By then every server has had time to bring it up. */
  onEnd(): void {
    for (const { history, record } of this.#context.groups) {
      const behind = (record?.eventNumber ?? 0) - (history.at(-1)?.number ?? 0);
      if (behind > 4) this.#context.fail("S6h", `at the end the history is ${behind} events behind`);
    }
  }
}
