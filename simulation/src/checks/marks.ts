import type { ElectionRecord } from "@tenure/core/internal";
import type { RecordWrite } from "../truth.js";
import type { Check, CheckContext } from "./check.js";

interface Mark {
  readonly leftMs: number;
  readonly setAtMs: number;
  readonly totalMs: number;
  /** When, after the faults, it must be over. */
  readonly overByMs: number;
}

/**
 * How long a mark may outlive its time without faults: servers that saw it late count from there. With faults there is
 * no limit: servers that restart while nothing is written count again from what is left.
 */
const GRACE_MS = 1000;

const LATEST_REQUEST_MS = 5000;

/**
 * S7, S8, L3, L5: takeover delay, ban, pause and transfer are respected, no mark outlives its time, and no deposed
 * leader gets more time.
 */
export class Marks implements Check {
  readonly #context: CheckContext;
  readonly #marks = new Map<string, Map<string, Mark>>();
  readonly #restUntil = new Map<string, number>();
  readonly #resumedAt = new Map<string, number>();

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onResumeSent(groupId: string): void {
    this.#resumedAt.set(groupId, this.#context.nowMs());
  }

  onWrite(write: RecordWrite): void {
    const marks = this.#followMarks(write);
    this.#checkTakeover(write);
    this.#checkBan(write, marks);
    this.#checkDeposed(write);
    this.#checkHeldBack(write);
    this.#checkAllowed(write);
  }

  /** A node that is not allowed is neither elected nor given more time. A write that changes the list may elect by the new one. */
  #checkAllowed({ record, previous, events }: RecordWrite): void {
    const { holder } = record;
    const allowed = record.config?.allowedNodes ?? null;
    if (holder === null || allowed === null || allowed.includes(holder.nodeId)) return;
    const isMore = record.holdMs > (previous?.record.holdMs ?? 0);
    if (isMore || events.some((event) => event.type === "LEADER_CHANGED"))
      this.#context.fail("S8", `${holder.nodeId} leads on in term ${record.term}, and is not allowed`);
  }

  #followMarks(write: RecordWrite): Map<string, Mark> {
    const { groupId, record, atMs } = write;
    const known = this.#marks.get(groupId) ?? new Map<string, Mark>();
    const present = new Map<string, Mark>();
    const banned = `ban ${newlyDeposed(write)}`;
    for (const [name, leftMs] of durations(record)) {
      const old = known.get(name);
      const isCarried = old !== undefined && leftMs <= old.leftMs && name !== banned;
      const overByMs =
        atMs < this.#context.chaosMs + this.#context.behindMs
          ? Number.POSITIVE_INFINITY
          : atMs + leftMs + GRACE_MS;
      const mark = isCarried
        ? { ...old, leftMs, overByMs: Math.min(old.overByMs, overByMs) }
        : { leftMs, setAtMs: atMs, totalMs: leftMs, overByMs };
      present.set(name, mark);
      if (atMs > mark.overByMs)
        this.#context.fail("L3", `${name} has ${leftMs} ms left, long after its time`);
    }
    // A ban that is gone from the record still binds until its time has truly passed, unless the group was deleted.
    if (!record.deleted) {
      for (const [name, mark] of known) {
        const isOver = atMs >= this.#earliestEnd(mark);
        if (name.startsWith("ban ") && !present.has(name) && !isOver) present.set(name, mark);
      }
    }
    this.#marks.set(groupId, present);
    return present;
  }

  /** The fastest clock allowed could see it over by then, and no sooner. */
  #earliestEnd(mark: Mark): number {
    return mark.setAtMs + mark.totalMs / (1 + this.#context.driftRatio) - this.#context.decidedBeforeMs;
  }

  #checkTakeover({ groupId, record, events, previous, atMs }: RecordWrite): void {
    const delayMs = previous?.record.config?.policy.takeoverDelayMs ?? 0;
    for (const event of events) {
      if (event.type === "LEADER_CHANGED") {
        const restMs = (this.#restUntil.get(groupId) ?? 0) - atMs;
        if (restMs > this.#context.decidedBeforeMs) {
          this.#context.fail(
            "S7",
            `${event.leaderNodeId} takes over ${restMs.toFixed(1)} ms before the delay is over`,
          );
        }
        this.#restUntil.delete(groupId);
      } else if (event.reason === "expired") {
        this.#restUntil.set(groupId, atMs + delayMs / (1 + this.#context.driftRatio));
      }
    }
    if (record.deleted) this.#restUntil.delete(groupId);
    const isExpiry = events.some((event) => event.type === "LEADER_LOST" && event.reason === "expired");
    if (record.delayMs > (previous?.record.delayMs ?? 0) && !isExpiry)
      this.#context.fail("S7", `a takeover delay of ${record.delayMs} ms begins without an expiry`);
  }

  #checkBan({ events, atMs }: RecordWrite, marks: ReadonlyMap<string, Mark>): void {
    for (const event of events) {
      const ban = event.type === "LEADER_CHANGED" ? marks.get(`ban ${event.leaderNodeId}`) : undefined;
      if (ban !== undefined && atMs < this.#earliestEnd(ban)) {
        this.#context.fail(
          "S8",
          `${event.leaderNodeId} is elected ${atMs - ban.setAtMs} ms into a ban of ${ban.totalMs} ms`,
        );
      }
    }
  }

  /** Pause and transfer, as in the record that was overwritten: no server can have seen it for longer than it existed. */
  #checkHeldBack({ groupId, events, previous, atMs }: RecordWrite): void {
    const won = events.find((event) => event.type === "LEADER_CHANGED");
    if (won === undefined || previous === null) return;
    const { pause, transfer } = previous.record;
    const isOver = (leftMs: number) =>
      atMs >= previous.atMs + leftMs / (1 + this.#context.driftRatio) - this.#context.decidedBeforeMs;
    // A write that resumes may elect at once, and the request for it may be seconds old.
    const isResumed = atMs - (this.#resumedAt.get(groupId) ?? Number.NEGATIVE_INFINITY) < LATEST_REQUEST_MS;
    if (pause !== null && !isResumed && (pause.leftMs === null || !isOver(pause.leftMs))) {
      this.#context.fail("S8", `${won.leaderNodeId} is elected while the group is paused`);
    }
    // Expiry and an operator end a transfer; one whose successor is not known to wait reserves nothing.
    const isAskedFor = !events.some((event) => event.reason === "expired" || event.reason === "deposed");
    if (
      transfer?.ready === true &&
      transfer.toNodeId !== won.leaderNodeId &&
      isAskedFor &&
      !isOver(transfer.leftMs)
    ) {
      this.#context.fail("S8", `${won.leaderNodeId} is elected while ${transfer.toNodeId} is to succeed`);
    }
  }

  #checkDeposed({ record, previous }: RecordWrite): void {
    const before = previous?.record;
    if (
      before === undefined ||
      before.deposed === null ||
      record.term !== before.term ||
      record.holder === null
    )
      return;
    if (record.deposed === null) this.#context.fail("L5", `term ${record.term} is no longer deposed`);
    if (record.holdMs > before.holdMs) {
      this.#context.fail(
        "L5",
        `the deposed leader of term ${record.term} has ${record.holdMs} ms after ${before.holdMs} ms`,
      );
    }
  }
}

/** The node that an operator deposed by this write, which may also have banned it again, for longer or shorter. */
function newlyDeposed({ record, previous, events }: RecordWrite): string | null {
  const isAsked = record.deposed !== null && record.deposed.by !== previous?.record.deposed?.by;
  const isForced = events.some((event) => event.by?.endsWith("force") === true);
  return isAsked || isForced ? (previous?.record.holder?.nodeId ?? null) : null;
}

function* durations(record: ElectionRecord): Iterable<readonly [name: string, leftMs: number]> {
  for (const ban of record.bans) yield [`ban ${ban.nodeId}`, ban.leftMs];
  if (record.transfer !== null) yield [`transfer ${record.transfer.toNodeId}`, record.transfer.leftMs];
  if (record.pause !== null && record.pause.leftMs !== null) yield ["pause", record.pause.leftMs];
  if (record.delayMs > 0) yield ["delay", record.delayMs];
}
