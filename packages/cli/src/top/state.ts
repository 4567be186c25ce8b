/** What `tenure top` shows, and what its keys do to it. Pure. */
import type { GroupState } from "../commands/group-state.js";

export interface Row {
  readonly groupId: string;
  readonly state: GroupState;
  readonly leader: string | null;
  readonly term: number;
  /** What is left of the lease; `null` without a leader. */
  readonly leftMs: number | null;
  /** A full bar. */
  readonly fullMs: number;
  /** `null` while it is not known yet. */
  readonly changesPerHour: number | null;
  readonly members: number | null;
}

export interface Health {
  readonly target: string;
  /** How long the store took to answer; `null` if it did not. */
  readonly roundTripMs: number | null;
  readonly problem: string | null;
}

export type SortKey = "group" | "state" | "leader" | "term" | "lease" | "changes" | "members";

export type ActName = "pause" | "resume" | "step-down";

/** What the operator is about to do. Nothing happens before a reason is typed, so a key that was hit by mistake does nothing. */
export interface Act {
  readonly name: ActName;
  readonly groupId: string;
  readonly reason: string;
}

export interface View {
  readonly page: "list" | "group" | "help";
  readonly sort: SortKey;
  readonly isReversed: boolean;
  readonly filter: string;
  readonly isTyping: boolean;
  /** The selected row of the list, and the first one on the screen. */
  readonly selected: number;
  readonly offset: number;
  /** The group that the page is about. */
  readonly groupId: string | null;
  readonly act: Act | null;
  /** The outcome of the last act, until the next key. */
  readonly message: string;
}

export const FIRST_VIEW: View = {
  page: "list",
  sort: "group",
  isReversed: false,
  filter: "",
  isTyping: false,
  selected: 0,
  offset: 0,
  groupId: null,
  act: null,
  message: "",
};

/** The next view, and the act to perform, if a key has confirmed one. */
export interface Pressed {
  readonly view: View;
  readonly perform: Act | null;
}

const SORT_KEYS: Readonly<Record<string, SortKey>> = {
  g: "group",
  a: "state",
  l: "leader",
  t: "term",
  e: "lease",
  c: "changes",
  m: "members",
};

const ACT_KEYS: Readonly<Record<string, ActName>> = { p: "pause", r: "resume", s: "step-down" };

const ESCAPE = "\u001B";
const ENTERS = new Set(["\r", "\n"]);
const ERASES = new Set(["\u007F", "\b"]);
const PRINTABLE = /^[\u0020-\u007E]+$/;
const PAGE_STEP = 10;
const MAX_REASON = 200;

const STEPS: Readonly<Record<string, number>> = {
  j: 1,
  [`${ESCAPE}[B`]: 1,
  k: -1,
  [`${ESCAPE}[A`]: -1,
  " ": PAGE_STEP,
  [`${ESCAPE}[6~`]: PAGE_STEP,
  [`${ESCAPE}[5~`]: -PAGE_STEP,
};

/** `groupId`: the selected group of the list, if there is one. */
export function pressed(before: View, key: string, groupId: string | null): Pressed | "quit" {
  if (key === "\u0003") return "quit";
  const view = { ...before, message: "" };
  if (view.act !== null) return confirmed(view, view.act, key);
  if (view.isTyping) return { view: typed(view, key), perform: null };
  if (key === "q" && view.page === "list") return "quit";
  return { view: moved(view, key, groupId), perform: null };
}

function moved(view: View, key: string, groupId: string | null): View {
  if (view.page === "help") return { ...view, page: view.groupId === null ? "list" : "group" };
  if (key === "?") return { ...view, page: "help" };
  const about = view.groupId ?? groupId;
  const act = ACT_KEYS[key];
  if (act !== undefined) {
    return about === null ? view : { ...view, act: { name: act, groupId: about, reason: "" } };
  }
  if (view.page === "group") {
    const isBack = key === ESCAPE || key === "q" || key === `${ESCAPE}[D` || ERASES.has(key);
    return isBack ? { ...view, page: "list", groupId: null } : view;
  }
  if (ENTERS.has(key) || key === `${ESCAPE}[C`) {
    return groupId === null ? view : { ...view, page: "group", groupId };
  }
  const sort = SORT_KEYS[key];
  if (sort !== undefined) {
    return { ...view, sort, isReversed: sort === view.sort && !view.isReversed, selected: 0, offset: 0 };
  }
  if (key === "/") return { ...view, isTyping: true };
  if (key === ESCAPE) return { ...view, filter: "", selected: 0, offset: 0 };
  const step = STEPS[key] ?? 0;
  return { ...view, selected: Math.max(0, view.selected + step) };
}

function confirmed(view: View, act: Act, key: string): Pressed {
  const { reason } = act;
  if (key === ESCAPE)
    return { view: { ...view, act: null, message: `${act.name} cancelled` }, perform: null };
  if (ENTERS.has(key)) {
    if (reason.trim() === "") return { view: { ...view, message: "type a reason first" }, perform: null };
    return { view: { ...view, act: null }, perform: { ...act, reason: reason.trim() } };
  }
  const next = ERASES.has(key)
    ? reason.slice(0, -1)
    : PRINTABLE.test(key)
      ? (reason + key).slice(0, MAX_REASON)
      : reason;
  return { view: { ...view, act: { ...act, reason: next } }, perform: null };
}

/** Limits the selection to the last row, and scrolls so that the selection is on the screen. */
export function within(view: View, rows: number, room: number): View {
  const selected = Math.min(view.selected, Math.max(0, rows - 1));
  const highest = Math.max(0, Math.min(rows - room, selected));
  const lowest = Math.max(0, selected - Math.max(0, room - 1));
  return { ...view, selected, offset: Math.max(lowest, Math.min(view.offset, highest)) };
}

function typed(view: View, key: string): View {
  if (ENTERS.has(key)) return { ...view, isTyping: false };
  const first = { ...view, selected: 0, offset: 0 };
  if (key === ESCAPE) return { ...first, isTyping: false, filter: "" };
  if (ERASES.has(key)) return { ...first, filter: view.filter.slice(0, -1) };
  return PRINTABLE.test(key) ? { ...first, filter: view.filter + key } : view;
}

/** The rows whose group, state or leader contains the text, in the chosen order; unknown values last. */
export function arranged(rows: readonly Row[], { sort, isReversed, filter }: View): Row[] {
  const wanted = filter.toLowerCase();
  const found = rows.filter(({ groupId, leader, state }) =>
    [groupId, leader ?? "", state].some((text) => text.toLowerCase().includes(wanted)),
  );
  const sign = isReversed ? -1 : 1;
  return found.sort((a, b) => sign * COMPARE[sort](a, b) || COMPARE.group(a, b));
}

/** Trouble first. */
const STATES: readonly GroupState[] = [
  "vacant",
  "flapping",
  "deposed",
  "held back",
  "paused",
  "never led",
  "led",
];

const COMPARE: Readonly<Record<SortKey, (a: Row, b: Row) => number>> = {
  group: (a, b) => byText(a.groupId, b.groupId),
  state: (a, b) => STATES.indexOf(a.state) - STATES.indexOf(b.state),
  leader: (a, b) => byText(a.leader ?? "\uFFFF", b.leader ?? "\uFFFF"),
  // Largest first.
  term: (a, b) => b.term - a.term,
  lease: (a, b) => (a.leftMs ?? -1) - (b.leftMs ?? -1),
  changes: (a, b) => (b.changesPerHour ?? -1) - (a.changesPerHour ?? -1),
  members: (a, b) => (b.members ?? -1) - (a.members ?? -1),
};

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
