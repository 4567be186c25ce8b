import { execFile, execFileSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { repositoryRules } from "./house-rules/repository.mjs";
import { readTree, workspaces } from "./house-rules/tree.mjs";
import { editsOf } from "./release.mjs";
import { root } from "./setup.mjs";

const run = promisify(execFile);
const ME = { NAME: "A", EMAIL: "a@example.org" };
const env = {
  ...process.env,
  ...Object.fromEntries(
    ["AUTHOR", "COMMITTER"].flatMap((role) =>
      Object.entries(ME).map(([key, value]) => [`GIT_${role}_${key}`, value]),
    ),
  ),
};

/** A repository of its own, with the files and the build of this one. */
let clone;
const git = (...args) => execFileSync("git", args, { cwd: clone, env, encoding: "utf8" }).trim();
const release = (...args) => run(process.execPath, ["scripts/release.mjs", ...args], { cwd: clone, env });
const refusal = async (...args) => {
  try {
    await release(...args);
    return "not refused";
  } catch ({ code, stderr }) {
    return `${code}: ${stderr.trim()}`;
  }
};

/** A directory of links, never a link to the directory: an install empties what `node_modules` leads to. */
function linkEntries(from, to) {
  if (!existsSync(from)) return;
  mkdirSync(to);
  for (const name of readdirSync(from)) symlinkSync(join(from, name), join(to, name));
}

beforeAll(async () => {
  clone = mkdtempSync(join(tmpdir(), "tenure-release-"));
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
  });
  const built = readdirSync(join(root, "packages")).map((name) => `packages/${name}/dist`);
  const others = ["scripts/engines/dist", "simulation/dist", "benchmarks/dist", "examples/dist"];
  const list = Buffer.concat([
    listed,
    Buffer.from([...built, ...others].map((path) => `${path}\0`).join("")),
  ]);
  const archive = join(clone, "files.tar");
  // Times are kept, so that the build is up to date.
  execFileSync("tar", ["-cf", archive, "--null", "--ignore-failed-read", "-T", "-"], {
    cwd: root,
    input: list,
    stdio: ["pipe", "ignore", "ignore"],
  });
  execFileSync("tar", ["-xf", archive], { cwd: clone });
  rmSync(archive);
  git("init", "--quiet", "--initial-branch", "main");
  for (const place of ["", ...readdirSync(join(root, "packages")).map((name) => `packages/${name}`)]) {
    linkEntries(join(root, place, "node_modules"), join(clone, place, "node_modules"));
  }
  git("add", "--all");
  git("commit", "--quiet", "--message", "start");
});
afterAll(() => {
  rmSync(clone, { recursive: true, force: true });
});

it("a dry run writes a whole release and leaves the repository as it was", async () => {
  const { stdout } = await release("9.8.7", "--dry-run");
  expect(stdout).toContain("nothing was committed or tagged");
  expect([git("status", "--porcelain"), git("tag")]).toEqual(["", ""]);
  const files = readdirSync(join(clone, "release"));
  const count = (pattern) => files.filter((file) => pattern.test(file)).length;
  expect(count(/^tenure-(?:\w+-)?9\.8\.7\.tgz$/)).toBe(readdirSync(join(root, "packages")).length);
  expect(files).toEqual(expect.arrayContaining(["tenure-9.8.7.cdx.json", "tenure-9.8.7.spdx.json"]));
  await run("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: join(clone, "release") });
});

it("a release sets every version, dates the changelog, commits and tags, once", async () => {
  await release("9.8.7");
  expect([git("status", "--porcelain"), git("describe")]).toEqual(["", "v9.8.7"]);
  const tree = readTree(clone);
  const versions = workspaces(tree).flatMap(({ json }) => [
    ...(json.version === undefined ? [] : [json.version]),
    ...Object.entries({ ...json.dependencies, ...json.peerDependencies, ...json.devDependencies })
      .filter(([name]) => name.startsWith("@tenure/"))
      .map(([, range]) => range),
  ]);
  expect(new Set(versions)).toEqual(new Set(["9.8.7"]));
  expect(repositoryRules["lock-in-step"](tree)).toEqual([]);
  expect(tree.get("CHANGELOG.md")).toMatch(/\n## Unreleased\n\n## 9\.8\.7 - \d{4}-\d\d-\d\d\n\n### /);
  expect(await refusal("--files-of", "v9.8.6")).toContain("the packages have version 9.8.7");
  expect(await refusal("9.8.7")).toBe("1: v9.8.7 is tagged already.");
  expect(await refusal("9.8.8")).toContain('nothing under "Unreleased"');
});

it("a release is refused for a lower version, for what is no version, and with changes in the work tree", async () => {
  expect(await refusal("0.0.1")).toMatch(/^1: 0\.0\.1 is lower than /);
  expect(await refusal("next")).toContain("with a version such as 1.2.3");
  expect(await refusal("v10.0.0")).toMatch(/^2: /);
  appendFileSync(join(clone, "README.md"), "\n");
  expect(await refusal("10.0.0")).toContain("commit or remove them.\nM README.md");
  git("checkout", "--", "README.md");
});

it("a release changes nothing but versions in a manifest", () => {
  const tree = readTree(root);
  const edits = editsOf(tree, "0.1.0", "2026-01-01");
  edits.delete("CHANGELOG.md");
  const current = JSON.parse(readFileSync(join(root, "packages/core/package.json"), "utf8")).version;
  for (const [file, text] of edits)
    expect([file, text.replaceAll('"0.1.0"', `"${current}"`)]).toEqual([file, tree.get(file)]);
});
