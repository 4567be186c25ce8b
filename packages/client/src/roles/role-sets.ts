/**
 * Sets of roles that are led together or not at all.
 *
 * They are acquired one after the other, in an order that is the same everywhere, and begun only when all are vacant; so of two
 * processes that want overlapping sets, one comes first. If for all that not all can be had in time, what was had is given back
 * and tried again after a while that is drawn at random: nobody waits for ever for what another holds.
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
  /** Until when all must be had; `null` where nothing is being tried, or all is had. */
  deadlineMs: number | null = null;
  notBeforeMs: number = Number.NEGATIVE_INFINITY;

  /** Nothing of it is held while one of its roles rests. */
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

  /** Whether it is this role's turn to be stood for. */
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

  /** A role was won: lets it act, or all of its set as soon as all are there. */
  won(role: Role): void {
    const set = this.#setOf(role);
    if (set === null) return role.act();
    if (!set.isComplete) return;
    set.deadlineMs = null;
    for (const each of set.roles) each.act();
  }

  /** A role is led here no longer; nor is the rest of its set. */
  gone(role: Role, reason: RoleDemoteReason | null): void {
    const set = this.#setOf(role);
    if (set === null) return;
    set.deadlineMs = null;
    const why = isOfProcess(reason) || reason === "rebalanced" ? reason : "set-lost";
    for (const each of set.roles) if (each !== role) void each.release(why);
  }

  /** Gives up what has taken too long. Returns when there is more to see to. */
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
