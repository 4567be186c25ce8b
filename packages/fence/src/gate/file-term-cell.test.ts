import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InvalidRequestError } from "@tenure/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FileTermCell } from "./file-term-cell.js";

const KEPT = 32;
/** The build that `npm test` makes first, because a child process cannot run TypeScript. */
const BUILT = new URL("../../dist/gate/file-term-cell.js", import.meta.url);

let directory = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "tenure-fence-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const namesOf = (): string[] => readdirSync(join(directory, readdirSync(directory)[0] as string));

describe("FileTermCell", () => {
  test("a file term cell remembers its terms after a restart", async () => {
    await new FileTermCell({ directory }).raise("billing", 7);
    const cell = new FileTermCell({ directory });
    expect(await cell.read("billing")).toBe(7);
    expect(await cell.raise("billing", 6)).toBe(7);
  });

  test("a file term cell creates nothing by reading, and its directory names show the group", async () => {
    const cell = new FileTermCell({ directory });
    await cell.read("billing/eu");
    expect(readdirSync(directory)).toEqual([]);
    await cell.raise("billing/eu", 1);
    expect(readdirSync(directory)).toEqual([expect.stringMatching(/^billing_eu-[0-9a-f]{32}$/)]);
  });

  test("a file term cell keeps the last terms only, and leaves other files unchanged", async () => {
    const cell = new FileTermCell({ directory });
    await cell.raise("g", 1);
    const [place] = readdirSync(directory) as [string];
    for (const name of ["readme", "007", "-5", "1e9", "99999999999999999999"]) {
      writeFileSync(join(directory, place, name), "");
    }
    for (let term = 2; term <= 3 * KEPT; term++) expect(await cell.raise("g", term)).toBe(term);
    const names = namesOf();
    expect(names).toContain("readme");
    expect(names.filter((name) => /^[1-9]\d?$/.test(name))).toHaveLength(KEPT);
    expect(await new FileTermCell({ directory }).read("g")).toBe(3 * KEPT);
  });

  test("a file term cell that cannot be written or read rejects with FENCE_UNAVAILABLE", async () => {
    writeFileSync(join(directory, "file"), "");
    for (const path of [join(directory, "file"), join(directory, "missing", "deeper")]) {
      const cell = new FileTermCell({ directory: path });
      await expect(cell.raise("g", 1)).rejects.toMatchObject({ code: "FENCE_UNAVAILABLE" });
    }
    const cell = new FileTermCell({ directory: join(directory, "file") });
    await expect(cell.read("g")).rejects.toMatchObject({ code: "FENCE_UNAVAILABLE" });
  });

  test("a file term cell accepts a directory and no other option", () => {
    expect(() => new FileTermCell({ directory: "" })).toThrow(InvalidRequestError);
    const more = { directory, path: "x" } as { directory: string };
    expect(() => new FileTermCell(more)).toThrow("path is not known here");
  });

  test("a file term cell has every acknowledged term when processes that raise it together are killed", async () => {
    expect(existsSync(BUILT), "run npm run build first").toBe(true);
    const script = join(directory, "raise.mjs");
    writeFileSync(
      script,
      `import { FileTermCell } from ${JSON.stringify(BUILT.href)};
       const cell = new FileTermCell({ directory: process.argv[2] });
       for (let term = Number(process.argv[3]); ; term += 3) process.send({ term, highest: await cell.raise("g", term) });`,
    );
    const terms = join(directory, "terms");
    let acknowledged = 0;
    await Promise.all(
      [1, 2, 3].map(async (first) => {
        const child = fork(script, [terms, String(first)], { execArgv: [] });
        let told = 0;
        child.on("message", ({ term, highest }: { term: number; highest: number }) => {
          expect(highest).toBeGreaterThanOrEqual(Math.max(term, told));
          told = highest;
          acknowledged = Math.max(acknowledged, highest);
          if (term > 60) child.kill("SIGKILL");
        });
        await once(child, "close");
      }),
    );
    const left = await new FileTermCell({ directory: terms }).read("g");
    expect(acknowledged).toBeGreaterThan(60);
    expect(left).toBeGreaterThanOrEqual(acknowledged);
  });
});
