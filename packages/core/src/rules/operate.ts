/** What happens when an operator acts on a led or vacant group. */
import type { LeadershipEvent } from "../event.js";
import type { GroupPolicy } from "../policy.js";
import type { Order } from "../operator-act.js";
import { type ElectionRecord, groupExists, type Holder, type Observation, policyOf } from "../record.js";
import { withAct } from "./acts.js";
import { carryOver } from "./carry-over.js";
import { isAllowed } from "./eligibility.js";
import { type Change, endTerm, type Stamp } from "./terms.js";

export type OperatorDecision =
  | ({ readonly kind: "write" } & Change)
  /** It is so already. */
  | { readonly kind: "unchanged" }
  /** There is no such group, or it was deleted. */
  | { readonly kind: "not-found" }
  | { readonly kind: "conflict"; readonly problem: string };

/** More bans at once than any group needs; the record must stay small. */
const MAX_BANS = 16;

export interface StepDown {
  readonly banMs: number;
  readonly force: boolean;
}

/**
 * From now on the leader can neither renew nor be confirmed; the group is free when the leader resigns or its lease
 * expires. With `force` the group is free at once; then only the term separates the old leader from its successor.
 */
export function decideStepDown(
  seen: Observation,
  { banMs, force }: StepDown,
  order: Order,
  stamp: Stamp,
): OperatorDecision {
  if (!groupExists(seen.record)) return { kind: "not-found" };
  const now = carryOver(seen.record, seen.ageMs);
  const { holder } = now;
  if (holder === null) return { kind: "conflict", problem: "the group has no leader" };
  const others = now.bans.filter((ban) => ban.nodeId !== holder.nodeId);
  if (banMs > 0 && others.length >= MAX_BANS) {
    return { kind: "conflict", problem: `the group has ${MAX_BANS} bans, no more are kept` };
  }
  const { nodeId } = holder;
  const deposed: ElectionRecord = {
    ...withAct(now, order, {
      act: "step-down",
      nodeId,
      ...(banMs > 0 ? { forMs: banMs } : {}),
      ...(force ? { force } : {}),
    }),
    deposed: { by: order.by },
    bans: banMs > 0 ? [...others, { nodeId, leftMs: banMs, order }] : now.bans,
    transfer: null,
  };
  if (!force && now.holdMs > 0) return { kind: "write", next: deposed, events: [] };
  return { kind: "write", ...endTerm(deposed, holder, "deposed", stamp) };
}

export interface Transfer {
  /** `null`: to the best candidate that waits. */
  readonly toNodeId: string | null;
  readonly timeoutMs: number;
  /** The successor may still be preparing. */
  readonly allowCold: boolean;
}

/** The candidates that a transfer may go to, as far as the deciding server knows. */
export interface Successors {
  /** `absent`: it waits nowhere. `unknown`: this server keeps no account of candidates at other servers. */
  of(nodeId: string): "ready" | "cold" | "absent" | "unknown";
  /** The first of those whose node may win, in the order of a vacancy: ready ones before cold ones. */
  best(
    strategy: GroupPolicy["strategy"],
    mayWin: (nodeId: string) => boolean,
  ): { readonly nodeId: string; readonly ready: boolean } | null;
}

/**
 * Any server may set the mark; the one where the successor waits makes it ready. A transfer to a node that waits nowhere
 * could only fail, after its time limit, and one to a cold node would leave the group without work: both are refused.
 */
export function decideTransfer(
  seen: Observation,
  { toNodeId, timeoutMs, allowCold }: Transfer,
  successors: Successors,
  order: Order,
): OperatorDecision {
  if (!groupExists(seen.record)) return { kind: "not-found" };
  const now = carryOver(seen.record, seen.ageMs);
  const { holder } = now;
  if (holder === null || now.holdMs === 0) return { kind: "conflict", problem: "the group has no leader" };
  if (holder.nodeId === toNodeId && now.deposed === null) return { kind: "unchanged" };
  if (now.deposed !== null) return { kind: "conflict", problem: "the leader has been asked to step down" };
  if (now.pause !== null) return { kind: "conflict", problem: "the group is paused" };
  if (now.transfer !== null) {
    return { kind: "conflict", problem: `a transfer to ${now.transfer.toNodeId} is under way` };
  }
  const chosen =
    toNodeId === null ? chooseSuccessor(now, holder, successors) : named(now, toNodeId, successors);
  if (chosen.kind === "conflict") return chosen;
  if (chosen.isCold && !allowCold) {
    const [what, which] =
      toNodeId === null ? ["every candidate that waits for this group", "one"] : [toNodeId, "it"];
    const advice = `transfer again when ${which} is ready, or set allow_cold to hand over before`;
    return { kind: "conflict", problem: `${what} is still preparing; ${advice}` };
  }
  const { nodeId } = chosen;
  const mark = { toNodeId: nodeId, leftMs: timeoutMs, ready: false, by: order.by };
  const acted = withAct(now, order, { act: "transfer", nodeId });
  return {
    kind: "write",
    next: { ...acted, transfer: allowCold ? { ...mark, allowCold } : mark },
    events: [],
  };
}

type Chosen =
  | { readonly kind: "chosen"; readonly nodeId: string; readonly isCold: boolean }
  | (OperatorDecision & { kind: "conflict" });

function named(now: ElectionRecord, nodeId: string, successors: Successors): Chosen {
  if (!isAllowed(now, nodeId)) return { kind: "conflict", problem: `${nodeId} is not an allowed node` };
  if (isBanned(now, nodeId)) return { kind: "conflict", problem: `${nodeId} is banned` };
  const standing = successors.of(nodeId);
  if (standing !== "absent") return { kind: "chosen", nodeId, isCold: standing === "cold" };
  return {
    kind: "conflict",
    problem: `${nodeId} is not waiting for this group; let it campaign with a wait, then transfer again`,
  };
}

function chooseSuccessor(now: ElectionRecord, holder: Holder, successors: Successors): Chosen {
  const mayWin = (nodeId: string) =>
    nodeId !== holder.nodeId && isAllowed(now, nodeId) && !isBanned(now, nodeId);
  const best = successors.best(policyOf(now).strategy, mayWin);
  if (best !== null) return { kind: "chosen", nodeId: best.nodeId, isCold: !best.ready };
  return {
    kind: "conflict",
    problem: "no candidate is waiting for this group; let one campaign with a wait, then transfer again",
  };
}

function isBanned({ bans }: ElectionRecord, nodeId: string): boolean {
  return bans.some((ban) => ban.nodeId === nodeId);
}

export type TransferProgress =
  /** The successor was elected. It need not lead any more. */
  | { readonly kind: "done" }
  | { readonly kind: "pending"; readonly leftMs: number; readonly ready: boolean }
  | { readonly kind: "failed"; readonly problem: string }
  /** The next term is over, and what this server has read of the history does not show who led it. */
  | { readonly kind: "unknown"; readonly problem: string };

/** How a transfer out of `fromTerm` stands: the leader of the next term, and no later one, is its outcome. */
export function transferProgress(
  seen: Observation,
  toNodeId: string,
  fromTerm: number,
  history: () => readonly LeadershipEvent[],
): TransferProgress {
  const now = carryOver(seen.record, seen.ageMs);
  if (now.term > fromTerm) {
    const elected = leaderOfTerm(now, fromTerm + 1, history);
    if (elected === toNodeId) return { kind: "done" };
    if (elected !== null) return { kind: "failed", problem: `${elected} was elected instead` };
    return {
      kind: "unknown",
      problem: `term ${fromTerm + 1} has begun and ended; look at the history of the group to see who led it`,
    };
  }
  if (now.transfer?.toNodeId === toNodeId) {
    return { kind: "pending", leftMs: now.transfer.leftMs, ready: now.transfer.ready };
  }
  return now.holder === null
    ? { kind: "failed", problem: `the leader is gone and ${toNodeId} did not take over` }
    : {
        kind: "failed",
        problem: `${now.holder.nodeId} did not yield to ${toNodeId} in time and still leads`,
      };
}

/**
 * The record without a transfer that has failed; `null` if it shows none. A mark that is over in the view of one server
 * still stands for a server that saw it later, which would still ask the leader to yield.
 */
export function withoutTransfer(seen: Observation, toNodeId: string, by: string): Change | null {
  const { transfer } = seen.record;
  if (transfer === null || transfer.toNodeId !== toNodeId || transfer.by !== by) return null;
  return { next: { ...carryOver(seen.record, seen.ageMs), transfer: null }, events: [] };
}

/** The record shows only the last events, the history the rest. `null`: neither shows that term any more. */
function leaderOfTerm(
  { events, holder, term }: ElectionRecord,
  asked: number,
  history: () => readonly LeadershipEvent[],
): string | null {
  if (term === asked && holder !== null) return holder.nodeId;
  const isBegin = (event: LeadershipEvent) => event.type === "LEADER_CHANGED" && event.term === asked;
  return (events.find(isBegin) ?? history().find(isBegin))?.leaderNodeId ?? null;
}

export interface Pause {
  /** `null`: until resumed. */
  readonly forMs: number | null;
  /** Whether a group that does not exist comes into being, paused. */
  readonly create: boolean;
}

/** The holder may continue and its lease still ends, but no node wins. */
export function decidePause(seen: Observation, { forMs, create }: Pause, order: Order): OperatorDecision {
  if (!create && !groupExists(seen.record)) return { kind: "not-found" };
  const now = carryOver(seen.record, seen.ageMs);
  const acted = withAct(now, order, { act: "pause", ...(forMs === null ? {} : { forMs }) });
  return { kind: "write", next: { ...acted, pause: { leftMs: forMs, order }, deleted: false }, events: [] };
}

export function decideResume(seen: Observation, order: Order): OperatorDecision {
  if (!groupExists(seen.record)) return { kind: "not-found" };
  const now = carryOver(seen.record, seen.ageMs);
  if (now.pause === null) return { kind: "unchanged" };
  return { kind: "write", next: { ...withAct(now, order, { act: "resume" }), pause: null }, events: [] };
}
