import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { FileTermCell } from "./file-term-cell.js";
import { MemoryTermCell, type TermCell } from "./term-cell.js";

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

/** The given number of cells, over the same memory or the same files. */
const kinds: [string, (count: number) => TermCell[]][] = [
  [
    "in memory",
    (count) => {
      const cell = new MemoryTermCell();
      return Array.from({ length: count }, () => cell);
    },
  ],
  [
    "of files",
    (count) => {
      const directory = mkdtempSync(join(tmpdir(), "tenure-fence-"));
      directories.push(directory);
      return Array.from({ length: count }, () => new FileTermCell({ directory: join(directory, "terms") }));
    },
  ],
];

describe.each(kinds)("a term cell %s", (_, open) => {
  test("a term cell knows no term at first, then the highest it was raised to", async () => {
    const [cell] = open(1) as [TermCell];
    expect(await cell.read("g")).toBe(0);
    expect(await cell.raise("g", 3)).toBe(3);
    expect(await cell.raise("g", 3)).toBe(3);
    expect(await cell.raise("g", 2)).toBe(3);
    expect(await cell.read("g")).toBe(3);
    expect(await cell.raise("g", Number.MAX_SAFE_INTEGER)).toBe(Number.MAX_SAFE_INTEGER);
    expect(await cell.raise("g", 4)).toBe(Number.MAX_SAFE_INTEGER);
  });

  test("a term cell keeps groups apart, whatever their names", async () => {
    const [cell] = open(1) as [TermCell];
    const groups = ["g", "G", "a/b", "a_b", "a:b", "...", "/", "x".repeat(200), `${"x".repeat(199)}y`];
    for (const [i, group] of groups.entries()) expect(await cell.raise(group, i + 1)).toBe(i + 1);
    for (const [i, group] of groups.entries()) expect(await cell.read(group)).toBe(i + 1);
  });

  test("a term cell is one register of the highest term, with any number of concurrent raises", async () => {
    const calls = fc.array(fc.record({ by: fc.nat(3), term: fc.integer({ min: 1, max: 60 }) }), {
      minLength: 2,
      maxLength: 40,
    });
    await fc.assert(
      fc.asyncProperty(calls, async (list) => {
        const cells = open(4);
        let now = 0;
        const log = await Promise.all(
          list.map(async ({ by, term }) => {
            const begun = now++;
            const highest = await (cells[by] as TermCell).raise("g", term);
            return { term, highest, begun, ended: now++ };
          }),
        );
        const top = Math.max(...list.map(({ term }) => term));
        for (const cell of cells) expect(await cell.read("g")).toBe(top);
        for (const { term, highest, begun } of log) {
          expect(highest).toBeGreaterThanOrEqual(term);
          expect(list.map((call) => call.term)).toContain(highest);
          // No caller gets less than another got before.
          for (const before of log) {
            if (before.ended < begun) expect(highest).toBeGreaterThanOrEqual(before.highest);
          }
        }
      }),
      { numRuns: 30 },
    );
  });
});
