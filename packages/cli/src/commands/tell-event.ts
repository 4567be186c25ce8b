import type { EndReason, WatchEvent } from "@tenure/core";
import { tellTime } from "../frame/duration.js";

/** How a term ended, as the end of a sentence. */
export const ENDINGS: Readonly<Record<EndReason, string>> = {
  expired: "lease expired",
  resigned: "resigned",
  deposed: "stepped down",
  transferred: "handed over",
};

type Event = Omit<WatchEvent, "cursor" | "groupId">;

/** One line: when, and what has changed. */
export function tellEvent(groupId: string, event: Event): string {
  return `${tellTime(event.tsMs)}  ${groupId}  ${tellChange(event)}`;
}

export function tellChange({ type, term, leaderNodeId, previousLeaderNodeId, reason, by }: Event): string {
  const asked = by === undefined ? "" : ` (by ${by})`;
  const missed = type === "RESYNC" ? "events were missed; now " : "";
  if (leaderNodeId !== null) return `${missed}${leaderNodeId} leads, term ${term}${asked}`;
  if (reason === "none") return `${missed}no leader yet`;
  const who = previousLeaderNodeId === null ? "no leader" : `${previousLeaderNodeId} no longer leads`;
  return `${missed}${who}, term ${term}: ${ENDINGS[reason]}${asked}`;
}
