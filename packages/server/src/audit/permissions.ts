import { type Caller, checkIsAdmin, checkMayActAs, checkMaySee } from "../auth/caller.js";
import type { AuditedAct, AuditLog } from "./audit-log.js";

/** The checks of `caller.ts`. Each refusal is recorded with what was tried. */
export class Permissions {
  readonly #audit: AuditLog;

  constructor(audit: AuditLog) {
    this.#audit = audit;
  }

  checkMaySee(caller: Caller, act: string, groupId: string): void {
    try {
      checkMaySee(caller, groupId);
    } catch (error) {
      this.#audit.denied({ caller, act, groupId, outcome: "UNAUTHORIZED" });
      throw error;
    }
  }

  checkMayActAs(caller: Caller, act: string, groupId: string, nodeId: string): void {
    try {
      checkMayActAs(caller, groupId, nodeId);
    } catch (error) {
      this.#audit.denied({ caller, act, groupId, nodeId, outcome: "UNAUTHORIZED" });
      throw error;
    }
  }

  checkIsAdmin(caller: Caller, act: string, groupId: string, details: AuditedAct["details"]): void {
    try {
      checkIsAdmin(caller);
    } catch (error) {
      this.#audit.adminActDenied({ caller, act, groupId, details, outcome: "UNAUTHORIZED" });
      throw error;
    }
  }
}
