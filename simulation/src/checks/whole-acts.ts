import type { GroupTruth, RecordWrite } from "../truth.js";
import { type Acted, type Check, type CheckContext, hasConfig } from "./check.js";

const KEPT = 64;

/**
 * S19: record and history together hold the last 64 acts of operators at every moment, each once, as it was written, with its
 * reason. An act that is answered as done is among them, once. A deletion drops the acts before it.
 */
export class WholeActs implements Check {
  readonly #context: CheckContext;

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onWrite({ groupId, record, previous, revision }: RecordWrite): void {
    const { act } = record;
    const before = previous?.record.act ?? null;
    const number = act?.number ?? 0;
    const lastNumber = before?.number ?? 0;
    if (number === lastNumber) {
      if (JSON.stringify(act) !== JSON.stringify(before))
        this.#fail(groupId, `revision ${revision} changes act ${number}`);
      return;
    }
    if (number !== lastNumber + 1)
      this.#fail(groupId, `revision ${revision} goes from act ${lastNumber} to ${number}`);
    const kept = this.#context.truth(groupId).historyActs.at(-1)?.number ?? 0;
    if (!record.deleted && lastNumber > kept)
      this.#fail(groupId, `revision ${revision} pushes act ${lastNumber} out, the history ends at ${kept}`);
  }

  onHistory({ groupId, acts, historyActs }: GroupTruth): void {
    const last = historyActs.at(-1)?.number ?? 0;
    const deleted = [...acts.values()].findLast(({ act, number }) => act === "delete" && number <= last);
    const first = Math.max(1, deleted?.number ?? 1, last - KEPT + 1);
    const kept = historyActs.filter(({ number }) => number >= first);
    if (kept.length !== last - first + 1 || historyActs.length > KEPT)
      this.#fail(groupId, `the history holds acts ${historyActs.map(({ number }) => number).join(" ")}`);
    for (const act of historyActs)
      if (JSON.stringify(acts.get(act.number)) !== JSON.stringify(act))
        this.#fail(groupId, `the history holds act ${act.number} otherwise than it was written`);
  }

  onActed({ act: { verb, request }, outcome, arrivedMs, answeredMs }: Acted): void {
    const by = "by" in request ? request.by : undefined;
    if (outcome !== "done" || by === undefined) return;
    const truth = this.#context.truth(request.groupId);
    const own = [...truth.acts.values()].filter((each) => each.by === by);
    // The others may have had nothing to do: it was so already, or the leader was gone.
    const isAlwaysWritten = verb === "pause" || verb === "create";
    const isUnchanged =
      verb === "create" &&
      [...truth.between(arrivedMs, answeredMs)].some((each) => each !== null && hasConfig(each, request));
    if (own.length === 0 && isAlwaysWritten && !isUnchanged)
      this.#fail(request.groupId, `${verb} by ${by} is answered as done, and no act shows it`);
    // Where the elector chooses the successor, it may try several.
    if (own.length > 1 && !(verb === "transfer" && request.toNodeId === undefined))
      this.#fail(request.groupId, `${verb} by ${by} is listed ${own.length} times`);
    if (own.some(({ act, reason }) => act !== verb || reason !== (request.reason ?? null)))
      this.#fail(request.groupId, `${verb} by ${by} is listed otherwise than it was asked for`);
  }

  #fail(groupId: string, what: string): void {
    this.#context.fail("S19", `${groupId}: ${what}`);
  }
}
