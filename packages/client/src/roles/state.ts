import type { ConnectionStatus, DemoteReason, Mandate } from "../election/state.js";

/**
 * Why this process leads a role no longer. `stopped` and `unhealthy` are reasons of the whole process: all roles end for them,
 * also those that depend on others or form a set.
 */
export type RoleDemoteReason =
  | DemoteReason
  /** `remove` was called. */
  | "removed"
  /** Another process has fewer roles than fall to it. */
  | "rebalanced"
  /** A role that this one depends on is led here no longer. */
  | "dependency-lost"
  /** Another role of its set is led here no longer. */
  | "set-lost";

/** Whether it ends all roles of this process at once. */
export function isOfProcess(reason: RoleDemoteReason | null): reason is "stopped" | "unhealthy" {
  return reason === "stopped" || reason === "unhealthy";
}

/** Each holds only what is valid in it. */
export type RoleState =
  /** Not stood for: somebody else leads it, it falls to somebody else, or what it depends on is not led here. */
  | { readonly kind: "out" }
  | { readonly kind: "seeking" }
  /** Its lease is held; the rest of its set is not yet, so nobody acts by it. */
  | { readonly kind: "won"; readonly mandate: Mandate }
  | { readonly kind: "leading"; readonly mandate: Mandate }
  /** Leads no more; its work has not ended yet, or its lease is not given back yet. */
  | { readonly kind: "releasing" };

/** One role as this process sees it. */
export interface RoleStatus {
  readonly role: string;
  readonly state: RoleState;
  readonly isLeader: boolean;
  /** Wherever that is; `null` where it is not known, or nobody leads. */
  readonly leaderId: string | null;
  /** The highest term known. */
  readonly term: number;
  /** Why the last attempt failed, or `onRolePromote` did; `null` while neither is known, and while it is led. */
  readonly error: unknown;
}

/** A process that takes part in the spreading. */
export interface RoleMember {
  readonly nodeId: string;
  /** How much of the whole falls to it, compared to the others. */
  readonly weight: number;
  /** The most roles that it takes. */
  readonly maxRoles: number;
}

/** What `status()` of a role manager returns. */
export interface RoleManagerStatus {
  /** `unhealthy`: gives its roles up and stands for none, until the health check says yes again. */
  readonly state: "idle" | "running" | "unhealthy" | "stopping" | "stopped";
  readonly roles: readonly RoleStatus[];
  /** How many of them this process leads. */
  readonly led: number;
  /** How many fall to it. */
  readonly share: number;
  /** Those who share the roles, this process among them; it alone where they are not spread. */
  readonly members: readonly RoleMember[];
  readonly connection: ConnectionStatus;
}

/** What `changes()` of a role manager yields; narrow on `kind`. */
export type RoleEvent =
  | { readonly kind: "role-promoted"; readonly role: string; readonly mandate: Mandate }
  | { readonly kind: "role-demoted"; readonly role: string; readonly reason: RoleDemoteReason }
  /** It cannot be stood for, and is tried again later. */
  | { readonly kind: "role-failed"; readonly role: string; readonly error: unknown }
  /** Not all of the set could be had in time; what was had is given back, and it is tried again later. */
  | { readonly kind: "set-given-up"; readonly set: string }
  | { readonly kind: "members-changed"; readonly members: readonly RoleMember[] }
  /** The process became unhealthy, or healthy again. */
  | { readonly kind: "health"; readonly healthy: boolean }
  | { readonly kind: "hook-failed"; readonly role: string; readonly hook: string; readonly error: unknown }
  | { readonly kind: "stopped" };

/** One series each; `node` is this process. Each role's own election has its series by `ElectionMetrics`. */
export interface RoleMetrics {
  /** How many roles this process leads. */
  led(node: string, count: number): void;
  /** How many fall to it. */
  share(node: string, count: number): void;
  /** How many processes share the roles. */
  members(node: string, count: number): void;
  promoted(node: string): void;
  demoted(node: string, reason: RoleDemoteReason): void;
}

export const NO_ROLE_METRICS: RoleMetrics = {
  led() {},
  share() {},
  members() {},
  promoted() {},
  demoted() {},
};
