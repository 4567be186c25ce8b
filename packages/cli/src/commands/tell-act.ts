/** What operators did to a group, for people: who, what, why and when. */
import type { OperatorAct } from "@tenure/core";
import { tellDuration, tellTime } from "../frame/duration.js";
import type { Cell } from "../frame/text.js";

/** In the column of events. */
const KINDS: Readonly<Record<OperatorAct["act"], string>> = {
  create: "created",
  update: "changed",
  delete: "deleted",
  "step-down": "step-down",
  transfer: "transfer",
  pause: "paused",
  resume: "resumed",
};

/** After the name of the operator. */
const DEEDS: Readonly<Record<OperatorAct["act"], string>> = {
  create: "created the group",
  update: "changed the group",
  delete: "deleted the group",
  "step-down": "asked the leader to step down",
  transfer: "transferred the leadership",
  pause: "paused the group",
  resume: "resumed the group",
};

export function kindCell({ act }: OperatorAct): Cell {
  return ["cyan", KINDS[act]];
}

/** In the columns of events. */
export function actCells(act: OperatorAct): Cell[] {
  return [["dim", tellTime(act.tsMs)], kindCell(act), act.nodeId ?? "-", String(act.term), detailsOf(act)];
}

/** `by jane for 5m: "migration"`. */
export function detailsOf(act: OperatorAct): string {
  const { by, reason } = act;
  return `by ${by}${conditionsOf(act)}${because(reason)}`;
}

/** One sentence. */
export function actSentence(act: OperatorAct): string {
  const { nodeId, tsMs, by, reason } = act;
  const whom = nodeId === undefined ? "" : act.act === "transfer" ? ` to ${nodeId}` : `, ${nodeId}`;
  return `${tellTime(tsMs)}: ${by} ${DEEDS[act.act]}${whom}${conditionsOf(act)}${because(reason)}.`;
}

/** `: "migration"`, or nothing without a reason. */
export function because(reason: string | null): string {
  return reason === null ? "" : `: "${reason}"`;
}

function conditionsOf({ act, forMs, force, changes = [] }: OperatorAct): string {
  const length =
    forMs === undefined ? "" : ` ${act === "step-down" ? "with a ban of" : "for"} ${tellDuration(forMs)}`;
  const forced = force === true ? ", by force" : "";
  const changed = changes.length === 0 ? "" : ` (${changes.map(inDurations).join(", ")})`;
  return `${length}${forced}${changed}`;
}

/** `max_ttl_ms: 60000 -> 30000` as `max_ttl: 1m -> 30s`. */
function inDurations(change: string): string {
  return change.replace(
    /_ms: (\d+) -> (\d+)$/,
    (_, before: string, after: string) =>
      `: ${tellDuration(Number(before))} -> ${tellDuration(Number(after))}`,
  );
}
