/**
 * Many roles in one process, over one elector. `role-manager.ts` says what `RoleManager` promises and what not.
 *
 * The types that a role shares with an election (`Mandate`, `Logger`) are in `@tenure/client`.
 */
export type { RoleManagerOptions, RoleOptions } from "./options.js";
export { RoleManager } from "./role-manager.js";
export type { RoleDemoteReason, RoleEvent, RoleManagerStatus, RoleMetrics, RoleStatus } from "./state.js";
