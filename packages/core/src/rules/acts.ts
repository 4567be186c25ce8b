/** How an act of an operator gets into the record: with the write that carries it out. */
import type { OperatorAct, Order } from "../operator-act.js";
import { type ElectionRecord, type GroupConfig, policyOf } from "../record.js";

const MAX_CHANGE = 200;

/** `next` with the act as its last one. */
export function withAct(
  next: ElectionRecord,
  order: Order,
  act: Omit<OperatorAct, "number" | "term" | keyof Order>,
): ElectionRecord {
  const number = (next.act?.number ?? 0) + 1;
  return { ...next, act: { number, ...order, term: next.term, ...act } };
}

export function isSameAct(one: OperatorAct, other: OperatorAct | null): boolean {
  if (other === null || one.changes?.join() !== other.changes?.join()) return false;
  return (["number", "act", "by", "reason", "tsMs", "term", "nodeId", "forMs", "force"] as const).every(
    (key) => one[key] === other[key],
  );
}

/** What an update changes, as texts for people in the names of the API. */
export function changesOf(before: ElectionRecord, after: GroupConfig): readonly string[] {
  const { retry: retryBefore, ...policyBefore } = policyOf(before);
  const { retry, ...policy } = after.policy;
  return [
    ...fieldChanges("", policyBefore, policy),
    ...fieldChanges("retry.", retryBefore, retry),
    ...fieldChanges(
      "",
      { allowedNodes: nodesText(before.config?.allowedNodes ?? null) },
      { allowedNodes: nodesText(after.allowedNodes) },
    ),
  ];
}

function fieldChanges<T extends object>(place: string, before: T, after: T): readonly string[] {
  const changed = (Object.keys(after) as (keyof T & string)[]).filter((key) => before[key] !== after[key]);
  return changed.map((key) =>
    `${place}${snakeCase(key)}: ${String(before[key])} -> ${String(after[key])}`.slice(0, MAX_CHANGE),
  );
}

function nodesText(nodeIds: readonly string[] | null): string {
  if (nodeIds === null) return "all";
  return nodeIds.length === 0 ? "none" : nodeIds.join(", ");
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
