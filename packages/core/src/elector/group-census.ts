/**
 * Counts the groups that exist, and how many implicit groups each node has founded; refuses a group that exceeds a
 * limit.
 *
 * The counts follow the feed, and each server counts for itself. So servers that share a store may together exceed a
 * limit by the foundings that they have in flight at the same moment.
 */
import { BackendUnavailableError, TooManyGroupsError } from "../errors.js";
import { type ElectionRecord, groupExists } from "../record.js";
import type { Step } from "./engine.js";

/** Absent: no limit. */
export interface GroupLimits {
  readonly maxGroups?: number;
  readonly maxGroupsPerNode?: number;
}

const UNLIMITED = Number.POSITIVE_INFINITY;
/** The divisor of `maxGroups` that gives the part reserved for operators: one group in a hundred. */
const OPERATOR_SHARE = 100;

export class GroupCensus {
  readonly #limits: Required<GroupLimits>;
  readonly #hasCounted: () => boolean;
  #total = 0;
  readonly #founded = new Map<string, number>();

  /** `hasCounted`: whether this server has read the store; before that there is nothing to count. */
  constructor(
    { maxGroups = UNLIMITED, maxGroupsPerNode = UNLIMITED }: GroupLimits,
    hasCounted: () => boolean,
  ) {
    this.#hasCounted = hasCounted;
    this.#limits = { maxGroups, maxGroupsPerNode };
  }

  /** A record has replaced another. */
  move(previous: ElectionRecord, next: ElectionRecord): void {
    const existed = groupExists(previous);
    const exists = groupExists(next);
    if (existed && exists && founderOf(previous) === founderOf(next)) return;
    if (existed) this.#add(founderOf(previous), -1);
    if (exists) this.#add(founderOf(next), 1);
  }

  /**
   * Admits a step: a write that would exceed a limit becomes a refusal, and a write that creates a group notes its founder. A
   * write that may have happened already is not refused: it was admitted before, and the slot that it finds taken may
   * be its own.
   */
  admit<T>(groupId: string, seen: ElectionRecord, step: Step<T>, uncertain: boolean): Step<T> {
    if (step.kind !== "write" || groupExists(seen) || !groupExists(step.change.next)) return step;
    const { maxGroups, maxGroupsPerNode } = this.#limits;
    if (maxGroups === UNLIMITED && maxGroupsPerNode === UNLIMITED) return step;
    const { change } = step;
    const founder = change.next.holder?.nodeId ?? null;
    const refusal = uncertain ? null : this.#hasCounted() ? this.#refusal(groupId, founder) : notYetCounted();
    if (refusal !== null) {
      step.dropped?.();
      return { kind: "answer", give: () => raise(refusal) };
    }
    const release = this.#reserve(founder);
    return {
      ...step,
      change: { ...change, next: { ...change.next, founder } },
      landed: (revision) => {
        release();
        step.landed?.(revision);
      },
      dropped: () => {
        release();
        step.dropped?.();
      },
    };
  }

  /** Why another group must not be created; `founder` is `null` for a group that an operator creates. */
  #refusal(groupId: string, founder: string | null): TooManyGroupsError | null {
    const { maxGroups, maxGroupsPerNode } = this.#limits;
    if (founder !== null && (this.#founded.get(founder) ?? 0) >= maxGroupsPerNode) {
      return new TooManyGroupsError(
        `group ${groupId} cannot be created: node ${founder} has created ${maxGroupsPerNode} groups, the limit per node (maxGroupsPerNode, --max-groups-per-node); delete groups that are no longer used, reuse existing ones, or raise the limit`,
        "maxGroupsPerNode",
        maxGroupsPerNode,
      );
    }
    if (maxGroups === UNLIMITED) return null;
    const reserved = founder === null || maxGroups < 2 ? 0 : Math.ceil(maxGroups / OPERATOR_SHARE);
    if (this.#total < maxGroups - reserved) return null;
    const share = reserved === 0 ? "" : `, of which ${reserved} are reserved for operators`;
    return new TooManyGroupsError(
      `group ${groupId} cannot be created: ${this.#total} groups exist, the limit is ${maxGroups}${share} (maxGroups, --max-groups); delete groups that are no longer used, or raise the limit`,
      "maxGroups",
      maxGroups,
    );
  }

  /** Counts a group whose write is in flight, until the returned function is called. */
  #reserve(founder: string | null): () => void {
    this.#add(founder, 1);
    return () => this.#add(founder, -1);
  }

  #add(founder: string | null, change: 1 | -1): void {
    this.#total += change;
    if (founder === null) return;
    const count = (this.#founded.get(founder) ?? 0) + change;
    if (count === 0) this.#founded.delete(founder);
    else this.#founded.set(founder, count);
  }
}

/** A group that an operator has configured is no longer its founder's. */
function founderOf({ config, founder }: ElectionRecord): string | null {
  return config === null ? founder : null;
}

function notYetCounted(): BackendUnavailableError {
  return new BackendUnavailableError("the groups in the store have not been counted yet");
}

function raise(error: Error): never {
  throw error;
}
