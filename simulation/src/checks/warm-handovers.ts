import type { ElectionRecord } from "@tenure/core/internal";
import type { RecordWrite } from "../truth.js";
import type { Standing } from "../waiting-rooms.js";
import type { Check, CheckContext } from "./check.js";

type Mark = NonNullable<ElectionRecord["transfer"]>;

/** After this time from its arrival a campaign is in the queue, whatever delayed it. */
const QUEUED_MS = 300;

/**
 * S18: no leader is asked to yield to a cold successor unless the operator has allowed that, neither for a challenger
 * nor for a transfer. A transfer to a node that waits cold at the server that was asked is refused, and sets no mark.
 */
export class WarmHandovers implements Check {
  readonly #context: CheckContext;

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onWrite(write: RecordWrite): void {
    const { groupId, record, previous, server } = write;
    const { transfer } = record;
    if (transfer === null || transfer.allowCold === true || record.holder === null) return;
    const before = previous?.record.transfer ?? null;
    const isNew = before === null || before.toNodeId !== transfer.toNodeId || before.by !== transfer.by;
    if (!isNew && before.ready === transfer.ready) return;
    const there = this.#context.rooms
      .of(groupId)
      .filter((each) => each.server.name === server && each.request.nodeId === transfer.toNodeId);
    if (there.some(({ request }) => request.ready !== false)) return;
    if (transfer.ready) this.#fail(write, transfer, "asks the leader to yield to");
    else if (isNew && there.some((each) => this.#isQueued(each, write)))
      this.#fail(write, transfer, "accepts a transfer to");
  }

  #isQueued({ request, arrivedMs, goneAtMs, leftAtMs }: Standing, { atMs }: RecordWrite): boolean {
    const { decidedBeforeMs, driftRatio } = this.#context;
    if (request.waitMs === undefined || goneAtMs !== null || leftAtMs !== null) return false;
    if (arrivedMs > atMs - decidedBeforeMs - QUEUED_MS) return false;
    return arrivedMs + request.waitMs / (1 + driftRatio) > atMs;
  }

  #fail({ server, groupId }: RecordWrite, { toNodeId, by }: Mark, what: string): void {
    this.#context.fail(
      "S18",
      `${server} ${what} ${toNodeId} in ${groupId}, which is cold (by ${by ?? "nobody"})`,
    );
  }
}
