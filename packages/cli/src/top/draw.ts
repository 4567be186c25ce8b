/** The screen of `tenure top` as lines of text, none wider than the screen and no more than it has. Pure. */
import { colourOf } from "../commands/group-state.js";
import { tellDuration } from "../frame/duration.js";
import { counted } from "../frame/numbers.js";
import { clipEnd, clipMiddle, type Paint } from "../frame/text.js";
import { type GroupDetail, groupPage, helpPage } from "./pages.js";
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
  /** What the page of a group shows; `null` while it is not known. */
  readonly detail: GroupDetail | null;
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
const STATE_WIDTH = 9;

/** How many groups fit on the screen. */
export function roomOf({ rows }: Size): number {
  return Math.max(0, rows - CHROME_LINES);
}

export function draw(screen: Screen, size: Size, paint: Paint): string[] {
  const { view, health } = screen;
  const isStale = health.problem !== null;
  const store = isStale
    ? paint("red", clipEnd(health.problem ?? "", size.columns))
    : paint("green", clipEnd(`store responds in ${tellDuration(health.roundTripMs ?? 0)}`, size.columns));
  const middle =
    view.page === "help"
      ? helpPage(size, paint)
      : view.page === "group"
        ? groupPage(screen, size, paint)
        : listPage(screen, size, paint);
  const blank = Array.from({ length: Math.max(0, roomOf(size) + 1 - middle.length) }, () => "");
  return [
    clipEnd(title(screen), size.columns),
    store,
    ...middle.slice(0, roomOf(size) + 1),
    ...blank,
    paint("inverse", clipEnd(footer(view), size.columns).padEnd(size.columns)),
  ].slice(0, size.rows);
}

function listPage({ rows, view, health }: Screen, size: Size, paint: Paint): string[] {
  const found = arranged(rows, view);
  const room = roomOf(size);
  const { offset, selected } = within(view, found.length, room);
  const columns = columnsFor(size.columns);
  const header = columns.map(({ title: name, width, isRight }) => fit(name, width, isRight)).join(" ");
  const body = found.slice(offset, offset + room).map((row, index) => {
    const text = columns.map(({ cell, width, isRight }) => fit(cell(row), width, isRight)).join(" ");
    const line = clipEnd(text, size.columns);
    const painted = health.problem === null ? coloured(row, line, paint) : paint("dim", line);
    return offset + index === selected ? paint("inverse", painted) : painted;
  });
  return [paint("bold", clipEnd(header, size.columns)), ...body];
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
  return [title(screen), store, header, ...lines].map((line) => line.trimEnd());
}

function title({ rows, view, health, time }: Screen): string {
  const shown = arranged(rows, view).length;
  const led = rows.filter(({ leader }) => leader !== null).length;
  const count =
    shown === rows.length ? counted(rows.length, "group") : `${shown} of ${counted(rows.length, "group")}`;
  return `tenure top  ${count}, ${led} led  ${time}  ${health.target}`;
}

function footer({ page, isTyping, filter, sort, isReversed, act, message }: View): string {
  const said = message === "" ? "" : `${message}  | `;
  if (act !== null) {
    return `${said}${act.name} ${act.groupId}, reason: ${act.reason}_  (enter confirms, esc cancels)`;
  }
  if (isTyping) return `filter: ${filter}_  (enter keeps it, esc clears it)`;
  if (page === "help") return "any key: back";
  if (page === "group") return `${said}esc: back  p: pause  r: resume  s: step down  ?: help`;
  const filtered = filter === "" ? "" : `  filter: ${filter}`;
  const order = `sorted by ${sort}${isReversed ? ", reversed" : ""}`;
  return `${said}${order}${filtered}  | ?: help  enter: details  /: filter  q: quit`;
}

/** The narrower the screen, the fewer columns; what remains goes to the names. */
function columnsFor(width: number): Column[] {
  const fixed: Column[] = [
    { title: "STATE", width: STATE_WIDTH, cell: ({ state }) => state },
    { title: "TERM", width: 7, cell: ({ term }) => String(term), isRight: true },
    { title: "LEASE", width: BAR_WIDTH + 8, cell: leaseCell },
    { title: "CHANGES/H", width: 9, cell: ({ changesPerHour }) => countOf(changesPerHour), isRight: true },
    { title: "MEMBERS", width: 7, cell: ({ members }) => countOf(members), isRight: true },
  ];
  while (fixed.length > 1 && nameRoom(width, fixed) < 2 * MIN_NAME_WIDTH + 1) fixed.pop();
  const room = Math.max(2 * MIN_NAME_WIDTH, nameRoom(width, fixed));
  const groupWidth = Math.ceil(room / 2);
  const [state, ...rest] = fixed;
  return [
    { title: "GROUP", width: groupWidth, cell: ({ groupId }) => groupId },
    ...(state === undefined ? [] : [state]),
    { title: "LEADER", width: room - groupWidth, cell: ({ leader }) => leader ?? "-" },
    ...rest,
  ];
}

function nameRoom(width: number, fixed: readonly Column[]): number {
  return width - fixed.reduce((sum, column) => sum + column.width + 1, 0) - 1;
}

function leaseCell({ leftMs, fullMs }: Pick<Row, "leftMs" | "fullMs">): string {
  if (leftMs === null) return "";
  const share = fullMs <= 0 ? 0 : Math.min(1, Math.max(0, leftMs / fullMs));
  const full = Math.round(share * BAR_WIDTH);
  const left = leftMs <= 0 ? "expired" : tellDuration(Math.round(leftMs / 100) * 100);
  return `${"█".repeat(full)}${"░".repeat(BAR_WIDTH - full)} ${left}`;
}

function countOf(count: number | null): string {
  return count === null ? "…" : String(count);
}

/** A group that is simply led has no colour, so that the others stand out. */
function coloured({ state, leftMs }: Row, line: string, paint: Paint): string {
  if (state !== "led") return paint(colourOf(state), line);
  return (leftMs ?? 0) <= 0 ? paint("red", line) : line;
}

function fit(text: string, width: number, isRight?: true): string {
  const clipped = clipMiddle(text, width);
  return isRight === true ? clipped.padStart(width) : clipped.padEnd(width);
}

function widen(text: string, width: number, isRight?: true): string {
  return isRight === true ? text.padStart(width) : text.padEnd(width);
}
