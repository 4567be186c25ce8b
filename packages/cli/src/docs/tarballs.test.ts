/** The published packages contain what a user needs, and nothing else. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { manifestIn, PACKAGES, placeOf, ROOT, unpackInto } from "./tarballs.test-kit.js";

const project = mkdtempSync(join(tmpdir(), "tenure-tarballs-"));
const filesIn = (place: string) =>
  (readdirSync(place, { recursive: true }) as string[]).map((file) => file.replaceAll("\\", "/"));

beforeAll(() => unpackInto(project, PACKAGES), 180_000);
afterAll(() => rmSync(project, { recursive: true, force: true }));

describe.each(PACKAGES)("the tarball of packages/%s", (folder) => {
  const place = placeOf(project, folder);

  test("the tarball has the licence of the repository and a README", () => {
    const licence = readFileSync(join(place, "LICENSE"), "utf8");
    expect(licence).toBe(readFileSync(join(ROOT, "LICENSE"), "utf8"));
    expect(filesIn(place)).toContain("README.md");
  });

  test("the tarball has no tests, build information or scripts", () => {
    expect(filesIn(place).filter((file) => /\.test[.-]|\.tsbuildinfo$|\.test-kit/.test(file))).toEqual([]);
    expect(manifestIn(place).scripts).toBeUndefined();
  });

  test("the tarball has the source of each file with a source map", () => {
    const maps = filesIn(place).filter((file) => file.endsWith(".js.map"));
    const without = maps.filter((file) => {
      const path = join(place, file);
      const map = JSON.parse(readFileSync(path, "utf8")) as { sources: string[]; sourcesContent?: unknown[] };
      const isInline = map.sourcesContent?.every((each) => typeof each === "string") ?? false;
      return !isInline && !map.sources.every((source) => existsSync(join(dirname(path), source)));
    });
    expect(without).toEqual([]);
  });
});
