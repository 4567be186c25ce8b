import type { ElectionRecord } from "@tenure/core/internal";
import type { Standing } from "../waiting-rooms.js";
import type { RecordWrite } from "../truth.js";
import { type Check, type CheckContext, mayWin } from "./check.js";

/** After this time from its arrival a campaign is in the queue, whatever delayed it. */
const QUEUED_MS = 300;
/** A candidate that a write with a lost answer names is passed over until the store has been asked. */
const TROUBLE_MS = 1500;
/** A wait that is nearly over may have ended by the server's clock. */
const NEARLY_OVER_MS = 50;

/**
 * S12: of the campaigns that wait at a server, ready ones come before cold ones; then the strategy of the group
 * decides, then the order of arrival. A newcomer does not overtake them. Between servers there is no order. A candidate
 * that campaigns again soon has the place of its last campaign there, or its own, whichever allows more.
 */
export class QueueOrder implements Check {
  readonly #context: CheckContext;

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onWrite(write: RecordWrite): void {
    const { groupId, events, record, previous, server } = write;
    const { holder } = record;
    if (holder === null || !events.some((event) => event.type === "LEADER_CHANGED")) return;
    // Reserved for one of them.
    if (previous !== null && previous.record.transfer !== null) return;
    const there = this.#context.rooms.of(groupId).filter((each) => each.server.name === server);
    const campaigns = there.filter(({ request }) => isOf(request, holder));
    const winner = campaigns[0];
    if (winner === undefined || winner.server.isTroubledSince(write.atMs - TROUBLE_MS)) return;
    // It may have been elected by any of its campaigns.
    const isReady = campaigns.some(({ request }) => request.ready !== false);
    for (const other of there) {
      if (isOf(other.request, holder) || !this.#isQueued(other, write)) continue;
      if (!isBefore(other, winner, isReady, record)) continue;
      this.#context.fail(
        "S12",
        `${server} elects ${holder.nodeId} (${isReady ? "ready" : "cold"}, priority ${holder.priority}, ` +
          `came ${winner.arrivedMs.toFixed(1)}) before ${other.request.nodeId} ` +
          `(${other.request.ready === false ? "cold" : "ready"}, priority ${other.request.priority ?? 0}, ` +
          `waits since ${other.arrivedMs.toFixed(1)})`,
      );
    }
  }

  #isQueued({ request, arrivedMs, goneAtMs, leftAtMs }: Standing, write: RecordWrite): boolean {
    const { driftRatio, decidedBeforeMs } = this.#context;
    if (request.waitMs === undefined || goneAtMs !== null || leftAtMs !== null) return false;
    if (arrivedMs > write.atMs - decidedBeforeMs - QUEUED_MS) return false;
    if (arrivedMs + request.waitMs / (1 + driftRatio) < write.atMs + NEARLY_OVER_MS) return false;
    // A candidate that could not win for a moment may have been answered so, and is about to leave.
    for (const state of this.#context.truth(write.groupId).between(arrivedMs, write.atMs))
      if (state !== null && !mayWin(state.record, request)) return false;
    return true;
  }
}

function isOf(
  request: Standing["request"],
  holder: { readonly nodeId: string; readonly instanceId: string | null },
): boolean {
  return request.nodeId === holder.nodeId && (request.instanceId ?? null) === holder.instanceId;
}

function isBefore(
  other: Standing,
  winner: Standing,
  isWinnerReady: boolean,
  { config, holder }: ElectionRecord,
): boolean {
  const isOtherReady = other.request.ready !== false;
  if (isOtherReady !== isWinnerReady) return isOtherReady;
  const byPriority = config?.policy.strategy === "priority";
  const ahead = byPriority ? (other.request.priority ?? 0) - (holder?.priority ?? 0) : 0;
  return ahead > 0 || (ahead === 0 && other.order < winner.place);
}
