import type { GroupHistory } from "@tenure/core";
import type { Cell } from "../frame/text.js";
import { actCells } from "./tell-act.js";
import { eventCells } from "./tell-event.js";

/** The events of a group and the acts of operators as rows of one table, oldest first. An act comes before its effect. */
export function historyRows({ events, acts }: GroupHistory): Cell[][] {
  const rows = [
    ...acts.map((act) => ({ tsMs: act.tsMs, cells: actCells(act) })),
    ...events.map((event) => ({ tsMs: event.tsMs, cells: eventCells(event) })),
  ];
  return rows.sort((a, b) => a.tsMs - b.tsMs).map(({ cells }) => cells);
}
