/** Colours and columns of the text that a command prints. */
import { styleText } from "node:util";

export type Colour = "red" | "green" | "yellow" | "cyan" | "magenta" | "bold" | "dim" | "inverse";

export type Paint = (colour: Colour, text: string) => string;

/** A cell of a table; painted after it was clipped and padded. */
export type Cell = string | readonly [colour: Colour, text: string];

export interface TableOptions {
  /** The width of the terminal; `null`: cells are never clipped. */
  readonly columns?: number | null;
  readonly paint?: Paint;
}

/** No column of a table that is too wide becomes narrower than this. */
const MIN_WIDTH = 8;
const GAP = "  ";

/** Colours only on a terminal, and not where `NO_COLOR` is set (https://no-color.org) or `TERM` is `dumb`. */
export function paintFor(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): Paint {
  const isWanted = isTerminal && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
  if (!isWanted) return (_, text) => text;
  // Not validated against the stream: `isTerminal` and `env` are those of the shell, which a test replaces.
  return (colour, text) => styleText(colour, text, { validateStream: false });
}

/**
 * Rows as lines, with columns as wide as their widest cell, two spaces apart. Where that is wider than the terminal, the widest
 * columns become narrower. An id is clipped in the middle, because its beginning and its end tell ids apart; a text of several words is
 * clipped at its end.
 */
export function table(rows: readonly (readonly Cell[])[], options: TableOptions = {}): string[] {
  const { columns = null, paint = (_: Colour, text: string): string => text } = options;
  const natural = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => textOf(row[column] ?? "").length)),
  );
  const widths = columns === null ? natural : narrowed(natural, columns);
  return rows.map((row) => {
    let room = columns ?? Number.POSITIVE_INFINITY;
    const last = row.findLastIndex((cell) => textOf(cell) !== "");
    const cells = row.slice(0, last + 1).map((cell, column) => {
      const width = widths[column] ?? 0;
      const text = textOf(cell);
      const clipped = text.includes(" ") ? clipEnd(text, width) : clipMiddle(text, width);
      const padded = column === last ? clipped : `${clipped.padEnd(width)}${GAP}`;
      const shown = padded.slice(0, Math.max(0, room));
      room -= shown.length;
      return typeof cell === "string" ? shown : paint(cell[0], shown);
    });
    return cells.join("");
  });
}

function narrowed(natural: readonly number[], columns: number): number[] {
  const widths = [...natural];
  let excess = widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1)) - columns;
  while (excess > 0) {
    const widest = Math.max(...widths);
    if (widest <= MIN_WIDTH) break;
    const atMost = Math.max(MIN_WIDTH, ...widths.filter((width) => width < widest));
    const wide = widths.filter((width) => width === widest).length;
    const step = Math.max(1, Math.min(widest - atMost, Math.ceil(excess / wide)));
    for (const [index, width] of widths.entries()) {
      if (width !== widest || excess <= 0) continue;
      widths[index] = width - step;
      excess -= step;
    }
  }
  return widths;
}

export function clipMiddle(text: string, width: number): string {
  if (text.length <= width) return text;
  if (width < 3) return text.slice(0, Math.max(0, width));
  const tail = Math.floor((width - 1) / 2);
  return `${text.slice(0, width - 1 - tail)}…${text.slice(text.length - tail)}`;
}

export function clipEnd(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

function textOf(cell: Cell): string {
  return typeof cell === "string" ? cell : cell[1];
}
