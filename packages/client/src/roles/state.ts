import type { ConnectionStatus, DemoteReason, Mandate } from "../election/state.js";

/**
 * Why this process no longer leads a role. `stopped` and `unhealthy` concern the whole process: all its roles end,
 * including those that depend on others or form a set.
 */
export type RoleDemoteReason =
  | DemoteReason
  /** `remove` was called. */
  | "removed"
  /** Another process has fewer roles than fall to it. */
  | "rebalanced"
  /** A role that this one depends on is no longer led here. */
  | "dependency-lost"
  /** Another role of its set is no longer led here. */
  | "set-lost";

/** Whether it ends all roles of this process at once. */
export function isOfProcess(reason: RoleDemoteReason | null): reason is "stopped" | "unhealthy" {
  return reason === "stopped" || reason === "unhealthy";
}

/** Each state holds only the fields that are valid in it. */
export type RoleState =
  /** No campaign: another process leads it, it falls to another process, or a role that it depends on is not led here. */
  | { readonly kind: "out" }
  | { readonly kind: "seeking" }
  /** Its lease is held, but the rest of its set is not yet, so its work has not begun. */
  | { readonly kind: "won"; readonly mandate: Mandate }
  | { readonly kind: "leading"; readonly mandate: Mandate }
  /** No longer leads; its work has not ended yet, or its lease was not given back yet. */
  | { readonly kind: "releasing" };

/** One role as this process sees it. */
export interface RoleStatus {
  readonly role: string;
  readonly state: RoleState;
  readonly isLeader: boolean;
  /** The leader, in whichever process; `null` if there is none or it is not known. */
  readonly leaderId: string | null;
  /** The highest term known. */
  readonly term: number;
  /** Why the last attempt or `onRolePromote` failed; `null` if neither failed, and while the role is led. */
  readonly error: unknown;
}

/** A process that shares the roles. */
export interface RoleMember {
  readonly nodeId: string;
  /** Its weight compared to the others. */
  readonly weight: number;
  /** The most roles that it takes. */
  readonly maxRoles: number;
}

/** What `status()` of a role manager returns. */
export interface RoleManagerStatus {
  /** `unhealthy`: gives its roles up and campaigns for none until the health check succeeds again. */
  readonly state: "idle" | "running" | "unhealthy" | "stopping" | "stopped";
  readonly roles: readonly RoleStatus[];
  /** How many of them this process leads. */
  readonly led: number;
  /** The number of roles that fall to it. */
  readonly share: number;
  /** The processes that share the roles, including this one; only this one if the roles are not spread. */
  readonly members: readonly RoleMember[];
  readonly connection: ConnectionStatus;
}

/** What `changes()` of a role manager yields; narrow on `kind`. */
export type RoleEvent =
  | { readonly kind: "role-promoted"; readonly role: string; readonly mandate: Mandate }
  | { readonly kind: "role-demoted"; readonly role: string; readonly reason: RoleDemoteReason }
  /** The campaign for the role failed, and is repeated later. */
  | { readonly kind: "role-failed"; readonly role: string; readonly error: unknown }
  /** Not all roles of the set could be acquired in time; those acquired are given back, and it is tried again later. */
  | { readonly kind: "set-given-up"; readonly set: string }
  | { readonly kind: "members-changed"; readonly members: readonly RoleMember[] }
  /** The process became unhealthy, or healthy again. */
  | { readonly kind: "health"; readonly healthy: boolean }
  | { readonly kind: "hook-failed"; readonly role: string; readonly hook: string; readonly error: unknown }
  | { readonly kind: "stopped" };

/** One method per series; `node` is this process. The election of each role has its own series through `ElectionMetrics`. */
export interface RoleMetrics {
  /** How many roles this process leads. */
  led(node: string, count: number): void;
  /** The number of roles that fall to it. */
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
