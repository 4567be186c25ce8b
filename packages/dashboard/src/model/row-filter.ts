import type { GroupBoard } from "./group-board.js";
import { GROUP_STATES, type GroupRow, type GroupState, stateOf } from "./group-row.js";

/** `state`: the most urgent first. */
export type SortKey = "state" | "group" | "leader" | "term" | "lease" | "members" | "since";

export interface Sort {
  readonly by: SortKey;
  readonly isReversed: boolean;
}

export interface RowFilter {
  /** Words, each of which must be in the group's id or its leader's. */
  readonly text: string;
  /** `null`: any. */
  readonly state: GroupState | null;
  readonly sort: Sort;
}

export const EVERY_ROW: RowFilter = { text: "", state: null, sort: { by: "state", isReversed: false } };

export interface Filtered {
  readonly rows: readonly GroupRow[];
  /** Of all that the words let through, whatever their state. */
  readonly counts: Readonly<Record<GroupState, number>>;
  readonly total: number;
}

export function filterRows(board: GroupBoard, { text, state, sort }: RowFilter, serverMs: number): Filtered {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  // Rows come in order of id, so rows of the same state, and those that are otherwise equal, stay in it.
  const byState = Object.fromEntries(GROUP_STATES.map((each) => [each, []])) as unknown as Record<
    GroupState,
    GroupRow[]
  >;
  const rows: GroupRow[] = [];
  let total = 0;
  for (const id of board.ids) {
    const row = board.row(id);
    if (row === undefined || !matches(row, words)) continue;
    total++;
    const found = stateOf(row, serverMs);
    byState[found].push(row);
    if (state === null || found === state) rows.push(row);
  }
  const counts = Object.fromEntries(GROUP_STATES.map((each) => [each, byState[each].length])) as Record<
    GroupState,
    number
  >;
  return { rows: sorted(rows, byState, state, sort), counts, total };
}

function matches({ groupId, leader }: GroupRow, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const text = `${groupId}\n${leader ?? ""}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function sorted(
  rows: GroupRow[],
  byState: Readonly<Record<GroupState, GroupRow[]>>,
  state: GroupState | null,
  { by, isReversed }: Sort,
): GroupRow[] {
  if (by === "state") {
    if (state !== null) return rows;
    const states = isReversed ? GROUP_STATES.toReversed() : GROUP_STATES;
    return states.flatMap((each) => byState[each]);
  }
  if (by === "group") return isReversed ? rows.toReversed() : rows;
  const key = KEYS[by];
  const sign = isReversed ? -1 : 1;
  return rows.sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    // What is not known comes last, whichever way.
    if (x === null || y === null) return (x === null ? 1 : 0) - (y === null ? 1 : 0);
    return x === y ? 0 : x < y ? -sign : sign;
  });
}

const KEYS: Readonly<Record<Exclude<SortKey, "state" | "group">, (row: GroupRow) => string | number | null>> =
  {
    leader: ({ leader }) => leader,
    term: ({ term }) => -term,
    lease: ({ expiresAtMs }) => expiresAtMs,
    members: ({ members }) => members,
    since: ({ changedAtMs }) => (changedAtMs === null ? null : -changedAtMs),
  };
