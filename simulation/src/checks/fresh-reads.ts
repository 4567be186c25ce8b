import type { Leader } from "@tenure/core";
import type { RecordWrite } from "../truth.js";
import type { Answer, Check, CheckContext, Read } from "./check.js";

/**
 * S4: a linearizable read shows a state that was in force at some moment between its arrival and its answer; a local
 * one shows a state no older than it says. The leader named in a refusal is such a read too.
 */
export class FreshReads implements Check {
  readonly #context: CheckContext;

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onRead(read: Read): void {
    const { result, answeredMs } = read;
    const isLocal = read.consistency === "local";
    const oldestMs = isLocal ? this.#asOfMs(read) - read.suspendedMs - 1 : read.arrivedMs;
    const isTrue = this.#wasSo(read.groupId, oldestMs, answeredMs, (write) =>
      write === null
        ? result.leader === null && result.term === 0
        : shows(write, result.leader) &&
          write.record.term === result.term &&
          (result.heldBack === "deposed") === (write.record.deposed !== null),
    );
    if (isTrue) return;
    const shown = result.leader === null ? "nobody" : `${result.leader.nodeId} in term ${result.leader.term}`;
    this.#context.fail(
      "S4",
      `a ${read.consistency} read at ${read.server} from ${read.arrivedMs.toFixed(1)} to ${answeredMs.toFixed(1)} shows ` +
        `${shown}, highest term ${result.term}${isLocal ? `, at most ${result.ageMs.toFixed(1)} ms old` : ""}`,
    );
  }

  /** Where processes stop between a reading of the clock and the answer, a pause may fall between the two as well. */
  #asOfMs({ result, arrivedMs, answeredMs }: Read): number {
    const { driftRatio, stoppedMs } = this.#context;
    const ageMs = result.ageMs / (1 - driftRatio);
    return stoppedMs > 0 ? Math.min(arrivedMs, answeredMs - stoppedMs) - ageMs : answeredMs - ageMs;
  }

  onAnswer({ verb, request, result, arrivedMs, answeredMs }: Answer): void {
    const named =
      result.kind === "lost"
        ? result.leader
        : result.kind === "not-leader"
          ? result.currentLeader
          : undefined;
    if (named === undefined) return;
    if (named === null) {
      const isTrue = this.#wasSo(request.groupId, arrivedMs, answeredMs, (write) =>
        this.#namesNobody(write, request.nodeId, answeredMs),
      );
      if (!isTrue)
        this.#context.fail(
          "S4",
          `${verb} of ${request.nodeId} is answered that there is no leader, although there is one`,
        );
      return;
    }
    if (this.#wasSo(request.groupId, arrivedMs, answeredMs, (write) => write !== null && shows(write, named)))
      return;
    this.#context.fail(
      "S4",
      `${verb} of ${request.nodeId} from ${arrivedMs.toFixed(1)} to ${answeredMs.toFixed(1)} is answered that ` +
        `${named.nodeId} leads term ${named.term}`,
    );
  }

  /**
   * No leader may be named if the group has no holder, its holder is deposed or is the caller itself, or its lease is
   * over.
   */
  #namesNobody(write: RecordWrite | null, askedBy: string, nowMs: number): boolean {
    if (write === null) return true;
    const { holder, deposed, holdMs } = write.record;
    if (holder === null || deposed !== null || holder.nodeId === askedBy) return true;
    const { driftRatio, decidedBeforeMs } = this.#context;
    return nowMs >= write.atMs + holdMs / (1 + driftRatio) - decidedBeforeMs;
  }

  #wasSo(
    groupId: string,
    fromMs: number,
    toMs: number,
    matches: (write: RecordWrite | null) => boolean,
  ): boolean {
    for (const write of this.#context.truth(groupId).between(fromMs, toMs)) if (matches(write)) return true;
    return false;
  }
}

function shows({ record }: RecordWrite, leader: Pick<Leader, "nodeId" | "term"> | null): boolean {
  // A leader that was asked to step down no longer leads, though its lease may still run.
  const holder = record.deposed === null ? record.holder : null;
  if (leader === null) return holder === null;
  return holder?.nodeId === leader.nodeId && record.term === leader.term;
}
