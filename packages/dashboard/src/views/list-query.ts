/** What is picked on the list of groups, as its address says it: `?q=shop&state=vacant&sort=-term`. */
import { GROUP_STATES } from "../model/group-row.js";
import { EVERY_ROW, type RowFilter, type Sort, type SortKey } from "../model/row-filter.js";

export const SORT_KEYS: readonly SortKey[] = [
  "group",
  "state",
  "leader",
  "term",
  "lease",
  "members",
  "since",
];

export function filterOf(query: URLSearchParams): RowFilter {
  const state = GROUP_STATES.find((each) => each === query.get("state")) ?? null;
  return { text: query.get("q") ?? "", state, sort: sortOf(query.get("sort") ?? "") };
}

function sortOf(text: string): Sort {
  const by = SORT_KEYS.find((key) => key === text.replace(/^-/, ""));
  return by === undefined ? EVERY_ROW.sort : { by, isReversed: text.startsWith("-") };
}

/** Without the default order, which needs no words. */
export function sortText({ by, isReversed }: Sort): string {
  return by === EVERY_ROW.sort.by && !isReversed ? "" : `${isReversed ? "-" : ""}${by}`;
}
