import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";
import { checksums, problemsOf } from "./packages.mjs";

const run = promisify(execFile);
let directory;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "tenure-packages-"));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

const FILES = { "index.js": "export const a = 1;\n", "index.d.ts": "export declare const a: number;\n" };
const ENTRY = { types: "./index.d.ts", default: "./index.js" };

/** A tarball as npm makes it, of a package with these entries and files. */
async function tarball(exports, files = FILES) {
  const folder = join(directory, "package");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const manifest = { name: "trial", version: "1.0.0", type: "module", license: "MIT", exports };
  for (const [file, text] of Object.entries({ ...files, "package.json": JSON.stringify(manifest) })) {
    writeFileSync(join(folder, file), text);
  }
  const file = join(directory, "trial.tgz");
  await run("tar", ["-czf", file, "-C", directory, "package"]);
  return { name: "trial", version: "1.0.0", file };
}

it("a package passes if publint and attw find each entry with its types", async () => {
  expect(await problemsOf([await tarball({ ".": ENTRY })])).toEqual([]);
});

it("a package fails if an entry has no file, and if its types do not fit its code", async () => {
  const missing = await problemsOf([await tarball({ ".": ENTRY, "./b": { default: "./b.js" } })]);
  expect(missing).toEqual([expect.stringMatching(/^publint trial: .*b\.js/)]);
  const types = "export default function a(): void;\n";
  const code = "export const b = 1;\n";
  const wrong = await problemsOf([await tarball({ ".": ENTRY }, { "index.js": code, "index.d.cts": types })]);
  expect(wrong).toEqual(expect.arrayContaining([expect.stringMatching(/^attw trial: /)]));
});

it("sha256sum accepts the checksums of files", async () => {
  const { file } = await tarball({ ".": ENTRY });
  writeFileSync(join(directory, "SHA256SUMS"), await checksums([file]));
  const { stdout } = await run("sha256sum", ["--check", "SHA256SUMS"], { cwd: directory });
  expect(stdout).toBe("trial.tgz: OK\n");
});
