/**
 * `npm run pack [DIRECTORY]`: the tarballs of all published packages, as npm would publish them, in `tarballs/` unless a directory is
 * given. Each is checked first: publint reads the manifest against the files, attw resolves each entry as TypeScript does.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { main, root, ScriptError, setUp } from "./setup.mjs";

const MAX_BYTES = 64 * 1024 * 1024;
/** By package and version: the digest of the tarball that passed last, and of the checkers. */
const PASSED = join(root, "node_modules/.cache/tenure-packages.json");
const CHECKERS = ["publint", "@arethetypeswrong/core"];
/** The packages are ESM: `require` and resolution by folders do not apply. */
const NOT_ESM = new Set(["node10", "node16-cjs"]);

/** Every folder below `packages/` is published; resolves to the manifests. */
export async function published() {
  const folders = (await readdir(join(root, "packages"))).toSorted();
  return Promise.all(
    folders.map(async (folder) => {
      const file = join(root, "packages", folder, "package.json");
      return { folder, ...JSON.parse(await readFile(file, "utf8")) };
    }),
  );
}

/** Packs what is built; resolves to `{ name, version, file }` of each package, dependencies before their dependents. */
export async function pack(directory) {
  const packages = dependenciesFirst(await published());
  await mkdir(directory, { recursive: true });
  const workspaces = packages.flatMap(({ folder }) => ["--workspace", `packages/${folder}`]);
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", directory, ...workspaces];
  const { stdout } = await promisify(execFile)("npm", args, { cwd: root, maxBuffer: MAX_BYTES });
  const files = new Map(Object.values(JSON.parse(stdout)).map(({ name, filename }) => [name, filename]));
  return packages.map(({ name, version }) => ({ name, version, file: join(directory, files.get(name)) }));
}

function dependenciesFirst(packages) {
  const byName = new Map(packages.map((each) => [each.name, each]));
  const sorted = new Set();
  const add = (each) => {
    if (each === undefined || sorted.has(each)) return;
    for (const name of Object.keys(each.dependencies ?? {})) add(byName.get(name));
    sorted.add(each);
  };
  for (const each of packages) add(each);
  return [...sorted];
}

/** Resolves to one line per problem. What has passed is not checked again until its tarball or a checker changes. */
export async function problemsOf(tarballs) {
  const versions = await Promise.all(CHECKERS.map(versionOf));
  const passed = await readPassed();
  const problems = [];
  for (const { name, version, file } of tarballs) {
    const data = await readFile(file);
    const digest = createHash("sha256").update(versions.join()).update(data).digest("hex");
    const key = `${name}@${version}`;
    if (passed[key] === digest) continue;
    const found = [...(await lint(name, data)), ...(await resolveTypes(name, data))];
    if (found.length === 0) passed[key] = digest;
    problems.push(...found);
  }
  await mkdir(join(PASSED, ".."), { recursive: true });
  await writeFile(PASSED, JSON.stringify(passed));
  return problems;
}

async function lint(name, data) {
  const [{ publint }, { formatMessage }] = await Promise.all([import("publint"), import("publint/utils")]);
  const tarball = data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
  const { messages, pkg } = await publint({ pack: { tarball }, strict: true });
  return messages.map((message) => `publint ${name}: ${formatMessage(message, pkg, { color: false })}`);
}

async function resolveTypes(name, data) {
  const attw = await import("@arethetypeswrong/core");
  const contents = attw.createPackageFromTarballData(new Uint8Array(data));
  const { exports = {} } = JSON.parse(contents.readFile(`/node_modules/${name}/package.json`));
  // Entries without code, such as the `.proto`, have no types.
  const entrypoints = Object.keys(exports).filter((entry) => exports[entry].types !== undefined);
  if (entrypoints.length === 0) return [];
  const result = await attw.checkPackage(contents, { entrypoints });
  if (result.types === false) return [`attw ${name}: the package has no types`];
  return result.problems
    .filter(({ resolutionKind, resolutionOption }) => !NOT_ESM.has(resolutionKind ?? resolutionOption))
    .map(({ kind, entrypoint = "", resolutionKind = "", ...rest }) => {
      const place = entrypoint === "" ? JSON.stringify(rest) : `${entrypoint} (${resolutionKind})`;
      return `attw ${name}: ${kind} at ${place}`;
    });
}

/** Packs into a directory that is removed afterwards. */
export async function checkPackages() {
  const directory = await mkdtemp(join(tmpdir(), "tenure-pack-"));
  try {
    report(await problemsOf(await pack(directory)));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

export function report(problems) {
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) throw new ScriptError(`${problems.length} problems in the packages, see above.`);
}

/** In the format of `sha256sum`, so that `sha256sum --check` verifies the files. */
export async function checksums(files) {
  const lines = files.map(async (file) => {
    const digest = createHash("sha256").update(await readFile(file));
    return `${digest.digest("hex")}  ${basename(file)}\n`;
  });
  return (await Promise.all(lines)).join("");
}

async function versionOf(name) {
  const file = join(root, "node_modules", name, "package.json");
  return `${name}@${JSON.parse(await readFile(file, "utf8")).version}`;
}

async function readPassed() {
  try {
    return JSON.parse(await readFile(PASSED, "utf8"));
  } catch {
    return {};
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await main(async () => {
    await setUp();
    const tarballs = await pack(resolve(process.argv[2] ?? join(root, "tarballs")));
    report(await problemsOf(tarballs));
    for (const { file } of tarballs) console.log(relative(process.cwd(), file));
  });
}
