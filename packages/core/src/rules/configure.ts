/** What happens when an operator creates, changes or deletes a group. */
import {
  EMPTY_RECORD,
  type ElectionRecord,
  type GroupConfig,
  groupExists,
  type Observation,
} from "../record.js";
import type { Order } from "../operator-act.js";
import { changesOf, withAct } from "./acts.js";
import { carryOver } from "./carry-over.js";
import { isAllowed } from "./eligibility.js";
import type { OperatorDecision } from "./operate.js";
import { endExpired, endTerm, type Stamp } from "./terms.js";

export function decideCreate(seen: Observation, config: GroupConfig, order: Order): OperatorDecision {
  const now = carryOver(seen.record, seen.ageMs);
  if (now.config !== null) return { kind: "conflict", problem: "the group has been created before" };
  const created = withAct(now, order, { act: "create" });
  return { kind: "write", next: configured(created, config, order.by), events: [] };
}

/** `change` gets the configuration in force, so that a partial change is merged into that one and not into an older one. */
export function decideUpdate(
  seen: Observation,
  change: (present: GroupConfig | null) => GroupConfig,
  order: Order,
): OperatorDecision {
  if (!groupExists(seen.record)) return { kind: "not-found" };
  const now = carryOver(seen.record, seen.ageMs);
  const config = change(now.config);
  const changes = changesOf(now, config);
  const updated = changes.length === 0 ? now : withAct(now, order, { act: "update", changes });
  return { kind: "write", next: configured(updated, config, order.by), events: [] };
}

/** A node that is not allowed may not lead: a leader is deposed, and no successor of that name is waited for. */
function configured(now: ElectionRecord, config: GroupConfig, by: string): ElectionRecord {
  const next = { ...now, config, deleted: false };
  const { holder, transfer } = next;
  if (holder !== null && !isAllowed(next, holder.nodeId))
    return { ...next, deposed: now.deposed ?? { by }, transfer: null };
  return transfer === null || isAllowed(next, transfer.toNodeId) ? next : { ...next, transfer: null };
}

/**
 * Leaves a tombstone: the term, because a term is never given twice; how the last term ended, because a resignation may
 * be asked again; the last event with its number, because a watcher may have seen all but that one; who deleted the
 * group, and why. All else goes, and with it the history (`history-keeper.ts`) and the members (`member-book.ts`).
 */
export function decideDelete(
  seen: Observation,
  force: boolean,
  order: Order,
  stamp: Stamp,
): OperatorDecision {
  const now = carryOver(seen.record, seen.ageMs);
  if (!groupExists(seen.record)) return { kind: "not-found" };
  const led = now.holder !== null && now.holdMs > 0;
  if (led && !force)
    return { kind: "conflict", problem: "the group is led; step its leader down first, or use force" };
  const ending = led ? endTerm(now, now.holder, "deposed", stamp) : endExpired(seen, now, stamp);
  const { term, eventNumber, events, ended, act } = withAct(ending?.next ?? now, order, {
    act: "delete",
    ...(force ? { force } : {}),
  });
  return {
    kind: "write",
    next: { ...EMPTY_RECORD, term, eventNumber, events: events.slice(-1), ended, act, deleted: true },
    events: ending?.events ?? [],
  };
}
