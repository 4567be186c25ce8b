/** The screen of `tenure top` as lines of text, none wider than the screen and no more than it has. Pure. */
import { tellLeader } from "../commands/groups-command.js";
import { tellDuration } from "../frame/duration.js";
import { counted } from "../frame/numbers.js";
import type { Paint } from "../frame/text.js";
import { arranged, type Health, type Row, type View, within } from "./state.js";

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export interface Screen {
  readonly rows: readonly Row[];
  readonly view: View;
  readonly health: Health;
  readonly time: string;
}

interface Column {
  readonly title: string;
  readonly width: number;
  readonly cell: (row: Row) => string;
  readonly isRight?: true;
}

const BAR_WIDTH = 10;
const CHROME_LINES = 4;
const MIN_NAME_WIDTH = 8;

/** How many groups fit on the screen. */
export function roomOf({ rows }: Size): number {
  return Math.max(0, rows - CHROME_LINES);
}

export function draw(screen: Screen, size: Size, paint: Paint): string[] {
  const { view, health } = screen;
  const found = arranged(screen.rows, view);
  const room = roomOf(size);
  const { offset } = within(view, found.length, room);
  const columns = columnsFor(size.columns);
  const header = columns.map(({ title, width, isRight }) => fit(title, width, isRight)).join(" ");
  const isStale = health.problem !== null;
  const body = found.slice(offset, offset + room).map((row) => {
    const line = clip(
      columns.map(({ cell, width, isRight }) => fit(cell(row), width, isRight)).join(" "),
      size.columns,
    );
    return isStale ? paint("dim", line) : colourOf(row, line, paint);
  });
  const blank = Array.from({ length: room - body.length }, () => "");
  return [
    clip(title(screen, found.length), size.columns),
    isStale
      ? paint("red", clip(health.problem ?? "", size.columns))
      : paint("green", clip(`store responds in ${tellDuration(health.roundTripMs ?? 0)}`, size.columns)),
    paint("bold", clip(header, size.columns)),
    ...body,
    ...blank,
    paint("inverse", fit(footer(view), size.columns)),
  ].slice(0, size.rows);
}

/** The same for a file or a pipe: all groups, with full names. */
export function drawPlain(screen: Screen): string[] {
  const rows = arranged(screen.rows, screen.view);
  const columns = columnsFor(120);
  const lines = rows.map((row) =>
    columns.map(({ cell, width, isRight }) => widen(cell(row), width, isRight)).join(" "),
  );
  const header = columns.map(({ title: name, width, isRight }) => fit(name, width, isRight)).join(" ");
  const { problem, roundTripMs } = screen.health;
  const store = problem ?? `store responds in ${tellDuration(roundTripMs ?? 0)}`;
  return [title(screen, rows.length), store, header, ...lines].map((line) => line.trimEnd());
}

function title({ rows, health, time }: Screen, shown: number): string {
  const led = rows.filter(({ leader }) => leader !== null).length;
  const count =
    shown === rows.length ? counted(rows.length, "group") : `${shown} of ${counted(rows.length, "group")}`;
  return `tenure top  ${health.target}  ${time}  ${count}, ${led} led`;
}

function footer({ isTyping, filter, sort, isReversed }: View): string {
  if (isTyping) return `filter: ${filter}_  (enter keeps it, esc clears it)`;
  const filtered = filter === "" ? "" : `  filter: ${filter}`;
  const order = `sorted by ${sort}${isReversed ? ", reversed" : ""}`;
  return `${order}${filtered}  | sort: g l t e c m  filter: /  scroll: j k  quit: q`;
}

/** The narrower the screen, the fewer columns; what remains goes to the names. */
function columnsFor(width: number): Column[] {
  const fixed: Column[] = [
    { title: "TERM", width: 7, cell: ({ term }) => String(term), isRight: true },
    { title: "LEASE", width: BAR_WIDTH + 10, cell: leaseCell },
    { title: "CHANGES/H", width: 9, cell: ({ changesPerHour }) => countOf(changesPerHour), isRight: true },
    { title: "MEMBERS", width: 7, cell: ({ members }) => countOf(members), isRight: true },
  ];
  while (fixed.length > 1 && nameRoom(width, fixed) < 2 * MIN_NAME_WIDTH + 1) fixed.pop();
  const room = Math.max(2 * MIN_NAME_WIDTH, nameRoom(width, fixed));
  const groupWidth = Math.ceil(room / 2);
  return [
    { title: "GROUP", width: groupWidth, cell: ({ groupId }) => groupId },
    { title: "LEADER", width: room - groupWidth, cell: leaderCell },
    ...fixed,
  ];
}

function nameRoom(width: number, fixed: readonly Column[]): number {
  return width - fixed.reduce((sum, column) => sum + column.width + 1, 0) - 1;
}

function leaderCell({ leader, isPaused, isHeldBack }: Row): string {
  return tellLeader(leader, isPaused, isHeldBack);
}

function leaseCell({ leftMs, fullMs }: Row): string {
  if (leftMs === null) return "";
  const share = fullMs <= 0 ? 0 : Math.min(1, Math.max(0, leftMs / fullMs));
  const full = Math.round(share * BAR_WIDTH);
  const left = leftMs <= 0 ? "expired" : tellDuration(Math.round(leftMs / 100) * 100);
  return `${"█".repeat(full)}${"░".repeat(BAR_WIDTH - full)} ${left}`;
}

function countOf(count: number | null): string {
  return count === null ? "…" : String(count);
}

function colourOf({ leader, isPaused, isHeldBack, leftMs }: Row, line: string, paint: Paint): string {
  if (leader === null) return paint("yellow", line);
  if (isPaused || isHeldBack) return paint("cyan", line);
  return (leftMs ?? 0) <= 0 ? paint("red", line) : line;
}

function clip(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

function fit(text: string, width: number, isRight?: true): string {
  const clipped = clip(text, width);
  return isRight === true ? clipped.padStart(width) : clipped.padEnd(width);
}

function widen(text: string, width: number, isRight?: true): string {
  return isRight === true ? text.padStart(width) : text.padEnd(width);
}
