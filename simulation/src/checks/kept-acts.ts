import type { StepDownRequest } from "@tenure/core";
import type { Act } from "../acts.js";
import type { RecordWrite } from "../truth.js";
import { type Acted, type Check, type CheckContext, hasConfig } from "./check.js";

/**
 * S10: an act that was answered as done is done: at some moment between the arrival of the request and its answer the
 * record showed its effect. If no write of the act is found, the effect must have come about otherwise.
 * S11: a transfer answers what happened: done only if the successor leads, failed only if it did not take over and
 * nothing of the transfer is left.
 */
export class KeptActs implements Check {
  readonly #context: CheckContext;

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onActed(acted: Acted): void {
    const { act, outcome } = acted;
    const states = this.#states(acted);
    if (outcome === "refused") {
      if (act.verb === "transfer") this.#checkFailed(act, acted, states);
      return;
    }
    if (this.#isDone(act, acted, states)) return;
    this.#context.fail(
      act.verb === "transfer" ? "S11" : "S10",
      `${act.verb} ${JSON.stringify(act.request)} from ${acted.arrivedMs.toFixed(1)} to ` +
        `${acted.answeredMs.toFixed(1)} is answered as done, and has not happened`,
    );
  }

  /** Oldest first: what was in force at some moment from the arrival of the request to its answer. */
  #states({ act, arrivedMs, answeredMs }: Acted): readonly RecordWrite[] {
    const states = [...this.#context.truth(act.request.groupId).between(arrivedMs, answeredMs)];
    return states.filter((each) => each !== null).toReversed();
  }

  #isDone(act: Act, acted: Acted, states: readonly RecordWrite[]): boolean {
    const written = states.filter(({ atMs }) => atMs >= acted.arrivedMs);
    switch (act.verb) {
      case "step-down":
        return written.some((each) => isSteppedDown(each, act.request)) || isGoneAnyway(states, act.request);
      case "pause":
        return written.some(({ record }) => record.pause?.leftMs === (act.request.forMs ?? null));
      case "resume":
        return states.length === 0 || states.some((each) => this.#isRunning(each, acted.answeredMs));
      case "create":
      case "update":
        return written.some((each) => hasConfig(each, act.request));
      case "delete":
        return states.some(({ record }) => record.deleted);
      case "transfer":
        return states.some(
          ({ record }) =>
            record.holder?.nodeId === (act.request.toNodeId ?? acted.leader?.nodeId) &&
            record.term === acted.leader?.term,
        );
    }
  }

  #isRunning({ record: { pause }, atMs }: RecordWrite, answeredMs: number): boolean {
    return pause === null || (pause.leftMs !== null && this.#mayBeOver(pause.leftMs, atMs, answeredMs));
  }

  #checkFailed(act: Act & { verb: "transfer" }, acted: Acted, states: readonly RecordWrite[]): void {
    const { by } = act.request;
    const last = states.at(-1);
    const mark = last?.record.transfer ?? null;
    if (last !== undefined && mark?.by === by && !this.#mayBeOver(mark.leftMs, last.atMs, acted.answeredMs)) {
      this.#context.fail(
        "S11",
        `the transfer to ${mark.toNodeId} is answered as failed, and its mark has ${mark.leftMs} ms left`,
      );
    }
    const yielded = states.findIndex(
      (each) => each.atMs >= acted.arrivedMs && each.events.some((event) => isYield(event, by)),
    );
    const next = states.slice(yielded).find(({ events }) => events.some(isElection));
    // Once the mark is withdrawn the transfer has failed; a node that wins afterwards wins by its own campaign.
    const kept = next?.previous?.record.transfer ?? null;
    const toNodeId = kept?.by === by ? kept.toNodeId : null;
    if (yielded !== -1 && toNodeId !== null && next?.record.holder?.nodeId === toNodeId) {
      this.#context.fail("S11", `the transfer to ${toNodeId} is answered as failed, and it took over`);
    }
  }

  /** Whether some clock may have seen the duration over by then. */
  #mayBeOver(leftMs: number, writtenMs: number, atMs: number): boolean {
    return atMs >= writtenMs + leftMs / (1 + this.#context.driftRatio) - this.#context.decidedBeforeMs;
  }
}

function isElection({ type }: { readonly type: string }): boolean {
  return type === "LEADER_CHANGED";
}

function isYield(event: { readonly reason: string; readonly by?: string }, by: string): boolean {
  return event.reason === "transferred" && event.by === by;
}

function isSteppedDown({ record, events }: RecordWrite, { by, force = false }: StepDownRequest): boolean {
  const isFreed = events.some(
    (event) => event.type === "LEADER_LOST" && event.reason === "deposed" && event.by === by,
  );
  return isFreed || (!force && record.deposed?.by === by);
}

/**
 * After a lost answer: the leader of that time no longer leads, or was deposed by another request, and is banned if
 * that was asked for. Or the group had no leader any more, and the server that was asked did not know yet.
 */
function isGoneAnyway(
  states: readonly RecordWrite[],
  { banMs = 0, force = false }: StepDownRequest,
): boolean {
  if (banMs === 0 && states.some(({ record }) => record.holder === null)) return true;
  return states.some(({ record: then }, index) => {
    const { holder, term } = then;
    if (holder === null) return false;
    return states.slice(index).some(({ record: now }) => {
      const isFree = now.term !== term || now.holder === null;
      const isGone = isFree || (!force && now.deposed !== null);
      return isGone && (banMs === 0 || now.bans.some((ban) => ban.nodeId === holder.nodeId));
    });
  });
}
