/** The published packages contain what a user needs, and nothing else. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { manifestOf, PACKAGES, ROOT, unpackInto } from "./tarballs.test-kit.js";

const project = mkdtempSync(join(tmpdir(), "tenure-tarballs-"));
const placeOf = (name: string) => join(project, "node_modules/@tenure", name);
const filesOf = (name: string) =>
  (readdirSync(placeOf(name), { recursive: true }) as string[]).map((file) => file.replaceAll("\\", "/"));

beforeAll(() => unpackInto(project, PACKAGES), 180_000);
afterAll(() => rmSync(project, { recursive: true, force: true }));

describe.each(PACKAGES)("the tarball of packages/%s", (name) => {
  test("the tarball has the licence of the repository and a README", () => {
    const licence = readFileSync(join(placeOf(name), "LICENSE"), "utf8");
    expect(licence).toBe(readFileSync(join(ROOT, "LICENSE"), "utf8"));
    expect(filesOf(name)).toContain("README.md");
  });

  test("the tarball has a README whose links work outside of the repository", () => {
    const readme = readFileSync(join(placeOf(name), "README.md"), "utf8");
    const targets = [...readme.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
    const broken = targets.filter(
      (target) =>
        !/^(?:https?:|#)/.test(target) && !existsSync(join(placeOf(name), target.split("#")[0] ?? "")),
    );
    expect(broken).toEqual([]);
  });

  test("the tarball has no tests, build information or scripts", () => {
    expect(filesOf(name).filter((file) => /\.test[.-]|\.tsbuildinfo$|\.test-kit/.test(file))).toEqual([]);
    expect(manifestOf(project, name).scripts).toBeUndefined();
  });

  test("the tarball has the source of each file with a source map", () => {
    const maps = filesOf(name).filter((file) => file.endsWith(".js.map"));
    const without = maps.filter((file) => {
      const path = join(placeOf(name), file);
      const map = JSON.parse(readFileSync(path, "utf8")) as { sources: string[]; sourcesContent?: unknown[] };
      const isInline = map.sourcesContent?.every((each) => typeof each === "string") ?? false;
      return !isInline && !map.sources.every((source) => existsSync(join(dirname(path), source)));
    });
    expect(without).toEqual([]);
  });
});
