/** What `tenure top` shows, and what its keys do to it. Pure. */
export interface Row {
  readonly groupId: string;
  readonly leader: string | null;
  readonly term: number;
  /** What is left of the lease; `null` without a leader. */
  readonly leftMs: number | null;
  /** A full bar. */
  readonly fullMs: number;
  /** `null` while it is not known yet. */
  readonly changesPerHour: number | null;
  readonly members: number | null;
  readonly isPaused: boolean;
  /** No candidate can win now, for example because the leader was asked to step down or the takeover delay runs. */
  readonly isHeldBack: boolean;
}

export interface Health {
  readonly target: string;
  /** How long the store took to answer; `null` if it did not. */
  readonly roundTripMs: number | null;
  readonly problem: string | null;
}

export type SortKey = "group" | "leader" | "term" | "lease" | "changes" | "members";

export interface View {
  readonly sort: SortKey;
  readonly isReversed: boolean;
  readonly filter: string;
  readonly isTyping: boolean;
  readonly offset: number;
}

export const FIRST_VIEW: View = { sort: "group", isReversed: false, filter: "", isTyping: false, offset: 0 };

const SORT_KEYS: Readonly<Record<string, SortKey>> = {
  g: "group",
  l: "leader",
  t: "term",
  e: "lease",
  c: "changes",
  m: "members",
};

const ESCAPE = "\u001B";
const PAGE_STEP = 10;

/** The next view, or `quit`. */
export function pressed(view: View, key: string): View | "quit" {
  if (key === "\u0003") return "quit";
  if (view.isTyping) return typed(view, key);
  const sort = SORT_KEYS[key];
  if (sort !== undefined)
    return { ...view, sort, isReversed: sort === view.sort && !view.isReversed, offset: 0 };
  switch (key) {
    case "q":
      return "quit";
    case "/":
      return { ...view, isTyping: true };
    case ESCAPE:
      return { ...view, filter: "", offset: 0 };
    case "j":
    case `${ESCAPE}[B`:
      return { ...view, offset: view.offset + 1 };
    case "k":
    case `${ESCAPE}[A`:
      return { ...view, offset: Math.max(0, view.offset - 1) };
    case " ":
    case `${ESCAPE}[6~`:
      return { ...view, offset: view.offset + PAGE_STEP };
    case `${ESCAPE}[5~`:
      return { ...view, offset: Math.max(0, view.offset - PAGE_STEP) };
    default:
      return view;
  }
}

/** Limits the offset to the last row, so that no key press scrolls past the end. */
export function within(view: View, rows: number, room: number): View {
  return { ...view, offset: Math.min(view.offset, Math.max(0, rows - room)) };
}

function typed(view: View, key: string): View {
  if (key === "\r" || key === "\n") return { ...view, isTyping: false };
  if (key === ESCAPE) return { ...view, isTyping: false, filter: "", offset: 0 };
  if (key === "\u007F" || key === "\b") return { ...view, filter: view.filter.slice(0, -1), offset: 0 };
  return /^[\u0020-\u007E]+$/.test(key) ? { ...view, filter: view.filter + key, offset: 0 } : view;
}

/** The rows whose group or leader contains the text, in the chosen order; unknown values last. */
export function arranged(rows: readonly Row[], { sort, isReversed, filter }: View): Row[] {
  const wanted = filter.toLowerCase();
  const found = rows.filter(
    ({ groupId, leader }) =>
      groupId.toLowerCase().includes(wanted) || (leader ?? "").toLowerCase().includes(wanted),
  );
  const sign = isReversed ? -1 : 1;
  return found.sort((a, b) => sign * COMPARE[sort](a, b) || COMPARE.group(a, b));
}

const COMPARE: Readonly<Record<SortKey, (a: Row, b: Row) => number>> = {
  group: (a, b) => byText(a.groupId, b.groupId),
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
