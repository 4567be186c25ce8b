/**
 * Sets of roles that are led together or not at all.
 *
 * The roles of a set are acquired one after the other, in an order that is the same everywhere, and only when all are
 * vacant. So of two processes that want overlapping sets, one comes first. If not all can be acquired in time, those
 * that were acquired are given back, and the process tries again after a random wait, so that no process waits for ever
 * for what another holds.
 */
import type { ParsedManager } from "./options.js";
import type { Role } from "./role.js";
import { isOfProcess, type RoleDemoteReason } from "./state.js";

export interface RoleSetsParts {
  readonly options: ParsedManager;
  readonly isVacant: (role: Role) => boolean;
  readonly givenUp: (set: string) => void;
}

class RoleSet {
  /** In the order in which they are acquired. */
  readonly roles: Role[] = [];
  /** When all roles must be acquired; `null` if nothing is being tried, or all are acquired. */
  deadlineMs: number | null = null;
  notBeforeMs: number = Number.NEGATIVE_INFINITY;

  /** No role of the set is held while one of its roles rests. */
  get beginsAtMs(): number {
    return Math.max(this.notBeforeMs, ...this.roles.map(({ restsUntilMs }) => restsUntilMs));
  }

  get isComplete(): boolean {
    return this.roles.every((role) => role.isWon);
  }
}

export class RoleSets {
  readonly #parts: RoleSetsParts;
  readonly #sets = new Map<string, RoleSet>();

  /** `roles` in their order. */
  constructor(parts: RoleSetsParts, roles: Iterable<Role>) {
    this.#parts = parts;
    for (const role of roles) {
      const name = role.spec.set;
      if (name === null) continue;
      const set = this.#sets.get(name) ?? new RoleSet();
      set.roles.push(role);
      this.#sets.set(name, set);
    }
  }

  /** Whether it is this role's turn to campaign. */
  mayBegin(role: Role): boolean {
    const set = this.#setOf(role);
    if (set === null) return true;
    const { clock } = this.#parts.options.election;
    const index = set.roles.indexOf(role);
    if (index > 0) return set.roles.slice(0, index).every((each) => each.isWon);
    return clock.monotonicMs() >= set.beginsAtMs && set.roles.every((each) => this.#parts.isVacant(each));
  }

  begun(role: Role): void {
    const set = this.#setOf(role);
    if (set === null) return;
    const { election, setTimeoutMs } = this.#parts.options;
    set.deadlineMs ??= election.clock.monotonicMs() + setTimeoutMs;
  }

  /** A role was won: starts its work, or that of its whole set once all roles are there. */
  won(role: Role): void {
    const set = this.#setOf(role);
    if (set === null) return role.act();
    if (!set.isComplete) return;
    set.deadlineMs = null;
    for (const each of set.roles) each.act();
  }

  /** A role is no longer led here; nor is the rest of its set. */
  gone(role: Role, reason: RoleDemoteReason | null): void {
    const set = this.#setOf(role);
    if (set === null) return;
    set.deadlineMs = null;
    const why = isOfProcess(reason) || reason === "rebalanced" ? reason : "set-lost";
    for (const each of set.roles) if (each !== role) void each.release(why);
  }

  /** Gives up a set that has taken too long. Returns when to look again. */
  review(): number {
    const { election, setTimeoutMs } = this.#parts.options;
    const nowMs = election.clock.monotonicMs();
    let againAtMs = Number.POSITIVE_INFINITY;
    for (const [name, set] of this.#sets) {
      if (set.deadlineMs !== null && !set.roles.some((role) => role.isHere)) set.deadlineMs = null;
      if (set.deadlineMs !== null && nowMs >= set.deadlineMs) {
        set.deadlineMs = null;
        set.notBeforeMs = nowMs + setTimeoutMs * (0.5 + election.random());
        for (const role of set.roles.toReversed()) void role.release("set-lost");
        this.#parts.givenUp(name);
      }
      for (const atMs of [set.deadlineMs ?? nowMs, set.beginsAtMs]) {
        if (atMs > nowMs) againAtMs = Math.min(againAtMs, atMs);
      }
    }
    return againAtMs;
  }

  #setOf({ spec }: Role): RoleSet | null {
    return spec.set === null ? null : (this.#sets.get(spec.set) ?? null);
  }
}
