/**
 * `npm run release -- VERSION [--dry-run]`: sets the version of all packages, dates the changelog, packs and checks the packages,
 * writes tarballs, bills of materials and checksums to `release/`, commits and tags. Nothing is published: a pushed tag makes
 * `.github/workflows/release.yml` do that, which writes the same files with `--files-of TAG`. A dry run, and a release that fails, leave the repository as it was.
 */
import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs, promisify } from "node:util";
import semver from "semver";
import { DEPENDENCY_KINDS, readTree, workspaces } from "./house-rules/tree.mjs";
import { checksums, pack, problemsOf, report } from "./packages.mjs";
import { writeSboms } from "./sbom.mjs";
import { main, root, ScriptError, setUp } from "./setup.mjs";

const CHANGELOG = "CHANGELOG.md";
const LOCK = "package-lock.json";
const UNRELEASED = "## Unreleased\n";

/** The files that a release changes, by path; pure. `tree` is a map of path to text. */
export function editsOf(tree, version, date) {
  const own = workspaces(tree);
  const names = new Set(own.map(({ json }) => json.name));
  const edits = new Map([[CHANGELOG, datedChangelog(tree.get(CHANGELOG), version, date)]]);
  for (const { file, json } of own) edits.set(file, written(withVersion(json, names, version)));
  const lock = JSON.parse(tree.get(LOCK));
  for (const { directory } of own) {
    lock.packages[directory] = withVersion(lock.packages[directory], names, version);
  }
  return edits.set(LOCK, written(lock));
}

function withVersion(manifest, names, version) {
  const changed = { ...manifest };
  // Private packages without a version stay without one.
  if (manifest.version !== undefined) changed.version = version;
  for (const kind of DEPENDENCY_KINDS.filter((each) => manifest[each] !== undefined)) {
    const entries = Object.entries(manifest[kind]);
    changed[kind] = Object.fromEntries(
      entries.map(([name, range]) => [name, names.has(name) ? version : range]),
    );
  }
  return changed;
}

function datedChangelog(text, version, date) {
  const [before, after] = text.split(UNRELEASED);
  if (after === undefined) throw new ScriptError(`${CHANGELOG} has no heading "Unreleased"; add it.`);
  if (/^\s*(?:## |$)/.test(after)) {
    throw new ScriptError(`${CHANGELOG} has nothing under "Unreleased"; describe what ${version} changes.`);
  }
  return `${before}${UNRELEASED}\n## ${version} - ${date}\n${after}`;
}

function written(json) {
  return `${JSON.stringify(json, null, 2)}\n`;
}

/** Refuses a release that could not be told from another one, or that would contain what is in no commit. */
async function checkRelease(tree, version) {
  if (semver.valid(version) !== version) {
    throw new ScriptError(
      "npm run release -- VERSION [--dry-run], with a version such as 1.2.3 or 1.2.3-rc.1",
      2,
    );
  }
  const changed = await git("status", "--porcelain");
  if (changed !== "") throw new ScriptError(`The work tree has changes; commit or remove them.\n${changed}`);
  const current = JSON.parse(tree.get("packages/core/package.json")).version;
  if (semver.lt(version, current)) throw new ScriptError(`${version} is lower than ${current}.`);
  if ((await git("tag", "--list", `v${version}`)) !== "")
    throw new ScriptError(`v${version} is tagged already.`);
}

async function git(...args) {
  return (await promisify(execFile)("git", args, { cwd: root })).stdout.trim();
}

/** Resolves to the files of the release. */
async function writeRelease(directory) {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const tarballs = await pack(directory);
  report(await problemsOf(tarballs));
  const files = [...tarballs.map(({ file }) => file), ...(await writeSboms(directory))];
  const sums = join(directory, "SHA256SUMS");
  await writeFile(sums, await checksums(files));
  return [...files, sums];
}

/** What the workflow publishes: the files of the commit that a tag names. */
async function filesOf(tag) {
  const { version } = JSON.parse(readTree(root).get("packages/core/package.json"));
  if (tag !== `v${version}`)
    throw new ScriptError(`The tag is ${tag}, and the packages have version ${version}.`);
  await setUp();
  list(await writeRelease(join(root, "release")));
}

async function release(version, isDryRun) {
  const tree = readTree(root);
  await checkRelease(tree, version);
  const edits = editsOf(tree, version, new Date().toISOString().slice(0, 10));
  await setUp();
  let isReleased = false;
  try {
    for (const [file, text] of edits) await writeFile(join(root, file), text);
    list(await writeRelease(join(root, "release")));
    if (isDryRun) {
      console.log(
        `Dry run: ${edits.size} files would change for ${version}; nothing was committed or tagged.`,
      );
      return;
    }
    await git("commit", "--all", "--message", `release: ${version}`);
    isReleased = true;
    await git("tag", "--annotate", `v${version}`, "--message", `Tenure ${version}`);
    console.log(`Tagged v${version}. To publish: git push --follow-tags`);
  } finally {
    if (!isReleased) await git("checkout", "--", ...edits.keys());
  }
}

function list(files) {
  for (const file of files) console.log(relative(process.cwd(), file));
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await main(async () => {
    const { values, positionals } = parseArgs({
      options: { "dry-run": { type: "boolean", default: false }, "files-of": { type: "string" } },
      allowPositionals: true,
    });
    if (values["files-of"] === undefined) await release(positionals[0], values["dry-run"]);
    else await filesOf(values["files-of"]);
  });
}
