import type { RecordWrite } from "../truth.js";
import type { Acted, Check, CheckContext } from "./check.js";

/** S8: an acknowledged ban holds: a node stepped down with a ban is not elected, whatever the record says of it. */
export class AskedBans implements Check {
  readonly #context: CheckContext;
  /** Per group and node, the end of the ban. */
  readonly #bans = new Map<string, number>();

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onActed({ act, outcome }: Acted): void {
    if (act.verb !== "step-down" || outcome === "refused") return;
    const { groupId, by, banMs = 0 } = act.request;
    if (banMs === 0) return;
    const { writes } = this.#context.truth(groupId);
    // Later writes carry over what is left of the ban, and the name of the operator as well.
    const write = writes.find((each) => askedBy(each) === by);
    const nodeId = write?.previous?.record.holder?.nodeId;
    // Without a write of its own, KeptActs checks whether it has happened otherwise.
    if (write === undefined || nodeId === undefined) return;
    const untilMs = write.atMs + banMs / (1 + this.#context.driftRatio);
    // An operator may have stepped it down again, or deleted the group, before this answer came.
    const isLast = !writes.some(
      (each) => each.atMs > write.atMs && (each.record.deleted || askedBy(each) !== undefined),
    );
    if (isLast) this.#bans.set(`${groupId} ${nodeId}`, untilMs);
  }

  onWrite(write: RecordWrite): void {
    const { groupId, record, events, previous, atMs } = write;
    const nodeId = previous?.record.holder?.nodeId;
    const isAnew = askedBy(write) !== previous?.record.deposed?.by;
    if (nodeId !== undefined && askedBy(write) !== undefined && isAnew)
      this.#bans.delete(`${groupId} ${nodeId}`);
    if (record.deleted) {
      for (const key of this.#bans.keys()) if (key.startsWith(`${groupId} `)) this.#bans.delete(key);
    }
    for (const event of events) {
      const untilMs = this.#bans.get(`${groupId} ${event.leaderNodeId}`);
      if (untilMs !== undefined && atMs < untilMs - this.#context.decidedBeforeMs) {
        this.#context.fail(
          "S8",
          `${event.leaderNodeId} is elected ${(untilMs - atMs).toFixed(1)} ms before its ban is over`,
        );
      }
    }
  }
}

/** The operator that stepped the leader down, if this write shows it. */
function askedBy({ record, events }: RecordWrite): string | undefined {
  return (
    record.deposed?.by ??
    events.find((event) => event.reason === "deposed" && event.type === "LEADER_LOST")?.by
  );
}
