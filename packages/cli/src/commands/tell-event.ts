import type { EndReason, WatchEvent } from "@tenure/core";
import { tellDuration, tellTime } from "../frame/duration.js";
import type { Cell } from "../frame/text.js";

/** How a term ended, as the end of a sentence. */
const ENDINGS: Readonly<Record<EndReason, string>> = {
  expired: "lease expired",
  resigned: "resigned",
  deposed: "stepped down",
  transferred: "handed over",
};

export type Event = Omit<WatchEvent, "cursor" | "groupId">;

/** What an event says, in columns: what has happened, to which node, in which term, and why. */
export const EVENT_COLUMNS = ["TIME", "EVENT", "NODE", "TERM", "REASON"] as const;

export function eventCells(event: Event): Cell[] {
  const { type, term, leaderNodeId, previousLeaderNodeId, reason, by, tsMs, silentMs } = event;
  const silence = silentMs === undefined ? "" : `${tellDuration(silentMs)} after the last renewal`;
  const asked = by === undefined ? "" : `by ${by}`;
  const [what, node, why]: readonly [Cell, string, string] =
    leaderNodeId !== null
      ? [["green", "elected"], leaderNodeId, asked]
      : [
          ["red", "lost"],
          previousLeaderNodeId ?? "-",
          [reason === "none" ? "" : ENDINGS[reason], silence, asked].filter((text) => text !== "").join(", "),
        ];
  const kind: Cell = type === "RESYNC" ? ["yellow", "resync"] : what;
  const missed = type === "RESYNC" ? "events were missed; this is the state now" : why;
  return [["dim", tellTime(tsMs)], kind, node, String(term), missed];
}
