/** What a benchmark is, and how its figures are printed: a table, and one line on each target. */

export interface Benchmark {
  readonly name: string;
  /** One line for `--help`. */
  readonly about: string;
  /** The engine that it is about, for `--store`. */
  readonly store?: string;
  /** Prints its table. A missed target is a line in it; only where `run` returns `missed` does the command fail. */
  run(): Promise<void | "met" | "missed">;
  /** Prints what this build costs compared with another one, whose checkout is given: both take turns in one run. */
  readonly beside?: (checkout: string) => Promise<void>;
}

/** Columns as wide as their widest cell; the first is aligned to the left, figures to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, column) =>
    Math.max(cell.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join("   ");
  return [line(head), widths.map((width) => "─".repeat(width)).join("───"), ...rows.map(line)].join("\n");
}

/** One line on a target. */
export function verdict(what: string, value: string, target: string, isMet: boolean): string {
  return `${what}: ${value}, target ${target}: ${isMet ? "met" : "MISSED"}`;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}
