/** What operators did to a group, and why: for people. No act decides who may win; the marks of the record do. */

export type ActName = "create" | "update" | "delete" | "step-down" | "transfer" | "pause" | "resume";

/** Who wants an act, why, and when it was decided, on the wall clock of the deciding server. */
export interface Order {
  readonly by: string;
  readonly reason: string | null;
  readonly tsMs: number;
}

/**
 * One act of an operator. The acts of a group are numbered from 1 without gaps, across restarts and deletion. The record
 * has the last one, written together with its effect; the history has the acts before it.
 */
export interface OperatorAct extends Order {
  readonly number: number;
  readonly act: ActName;
  /** The highest term of the group at that time. */
  readonly term: number;
  /** The leader that was asked to step down, or the successor of a transfer. */
  readonly nodeId?: string;
  /** How long the pause or the ban lasts; absent: until resumed, or no ban. */
  readonly forMs?: number;
  readonly force?: true;
  /** What an update changed, such as `max_ttl_ms: 60000 -> 30000`. */
  readonly changes?: readonly string[];
}

/** An act, with its group. */
export interface GroupAct extends OperatorAct {
  readonly groupId: string;
}

const ACTS_IN_HISTORY = 64;

/** Both lists by number, each act once, the newest kept. */
export function mergeActs(
  one: readonly OperatorAct[],
  other: readonly OperatorAct[],
): readonly OperatorAct[] {
  const byNumber = new Map<number, OperatorAct>();
  for (const act of [...one, ...other]) byNumber.set(act.number, act);
  return [...byNumber.values()].sort((a, b) => a.number - b.number).slice(-ACTS_IN_HISTORY);
}
