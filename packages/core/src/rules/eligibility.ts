import type { HeldBack } from "../elector.js";
import type { ElectionRecord } from "../record.js";

/** What keeps a node from winning a vacancy, and for how long; `null`: nothing does. */
export interface Obstacle {
  readonly heldBack: HeldBack;
  /** `null`: until an operator acts. */
  readonly leftMs: number | null;
}

/** Reads the marks of a record carried over to now. Ignores a lease that still runs. */
export function obstacleFor(now: ElectionRecord, nodeId: string): Obstacle | null {
  if (now.pause !== null) return { heldBack: "paused", leftMs: now.pause.leftMs };
  const ban = now.bans.find((each) => each.nodeId === nodeId);
  if (ban !== undefined) return { heldBack: "banned", leftMs: ban.leftMs };
  if (now.transfer !== null && now.transfer.toNodeId !== nodeId) {
    return { heldBack: "reserved", leftMs: now.transfer.leftMs };
  }
  if (now.delayMs > 0) return { heldBack: "takeover_delay", leftMs: now.delayMs };
  return null;
}

/** What keeps every node, or every node but a successor, from leading a group without a standing leader. */
export function groupObstacle(
  now: ElectionRecord,
): (Obstacle & { heldBack: Exclude<HeldBack, "banned"> }) | null {
  if (now.holder !== null) return now.deposed === null ? null : { heldBack: "deposed", leftMs: now.holdMs };
  if (now.pause !== null) return { heldBack: "paused", leftMs: now.pause.leftMs };
  if (now.transfer !== null) return { heldBack: "reserved", leftMs: now.transfer.leftMs };
  return now.delayMs > 0 ? { heldBack: "takeover_delay", leftMs: now.delayMs } : null;
}

export function isAllowed(record: ElectionRecord, nodeId: string): boolean {
  const allowed = record.config?.allowedNodes ?? null;
  return allowed === null || allowed.includes(nodeId);
}
