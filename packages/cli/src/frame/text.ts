/** Colours and columns of the text that a command prints. */
import { styleText } from "node:util";

export type Colour = "red" | "green" | "yellow" | "cyan" | "bold" | "dim" | "inverse";

export type Paint = (colour: Colour, text: string) => string;

/** Colours only on a terminal, and not where `NO_COLOR` is set (https://no-color.org) or `TERM` is `dumb`. */
export function paintFor(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): Paint {
  const isWanted = isTerminal && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
  if (!isWanted) return (_, text) => text;
  // Not validated against the stream: `isTerminal` and `env` are those of the shell, which a test replaces.
  return (colour, text) => styleText(colour, text, { validateStream: false });
}

/** Rows as lines, with columns as wide as their widest cell, two spaces apart. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
