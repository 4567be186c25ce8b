import type { GroupBoard } from "./group-board.js";
import { GROUP_STATES, type GroupRow, type GroupState, stateOf } from "./group-row.js";

export interface RowFilter {
  /** Words, each of which must be in the group's id or its leader's. */
  readonly text: string;
  /** `null`: any. */
  readonly state: GroupState | null;
}

export interface Filtered {
  readonly rows: readonly GroupRow[];
  /** Of each row, its place among all ids. */
  readonly places: readonly number[];
  /** Of all that the words let through, whatever their state. */
  readonly counts: Readonly<Record<GroupState, number>>;
  readonly total: number;
}

export function filterRows(board: GroupBoard, { text, state }: RowFilter, serverMs: number): Filtered {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const rows: GroupRow[] = [];
  const places: number[] = [];
  const counts = Object.fromEntries(GROUP_STATES.map((each) => [each, 0])) as Record<GroupState, number>;
  let total = 0;
  const { ids } = board;
  for (let place = 0; place < ids.length; place++) {
    const row = board.row(ids[place] as string);
    if (row === undefined || !matches(row, words)) continue;
    total++;
    const found = stateOf(row, serverMs);
    counts[found]++;
    if (state !== null && found !== state) continue;
    rows.push(row);
    places.push(place);
  }
  return { rows, places, counts, total };
}

function matches({ groupId, leader }: GroupRow, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const text = `${groupId}\n${leader ?? ""}`.toLowerCase();
  return words.every((word) => text.includes(word));
}
