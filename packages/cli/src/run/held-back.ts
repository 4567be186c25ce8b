import type { Group, HeldBack } from "@tenure/core";
import { tellDuration, tellTime } from "../frame/duration.js";

/** Why a group without a leader elects none now, as a sentence. `forMs`: how long that lasts; absent: until an operator acts. */
export function tellHeldBack(heldBack: HeldBack, groupId: string, nodeId: string, forMs?: number): string {
  const lasts = forMs === undefined ? "" : ` for another ${tellDuration(forMs)}`;
  switch (heldBack) {
    case "paused":
      return tellPause(groupId, null, forMs);
    case "takeover_delay":
      return `${groupId} has no leader${lasts}: the takeover delay after an expired lease is running`;
    case "banned":
      return `${nodeId} may not lead ${groupId}${lasts}: it is banned after a step-down`;
    case "reserved":
      return `${groupId} is reserved for another node${lasts}`;
    case "deposed":
      return `${groupId} has no leader${lasts}: its leader was asked to step down, and the lease has not expired`;
  }
}

/** A pause, with who paused the group, since when and why, if that is known. */
export function tellPause(groupId: string, pause: Group["pause"], forMs?: number): string {
  const lasts = forMs === undefined ? `until tenure resume ${groupId}` : `for another ${tellDuration(forMs)}`;
  const reason = pause === null || pause.reason === null ? "" : ` (${pause.reason})`;
  const by = pause === null ? "" : ` by ${pause.by} since ${tellTime(pause.sinceMs)}${reason}`;
  return `${groupId} is paused${by}; no new leader ${lasts}`;
}
