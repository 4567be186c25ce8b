/**
 * `npm run sbom [DIRECTORY]`: what a release is made of, as CycloneDX and as SPDX, from the lock file alone. `npm sbom` does
 * the work; it needs neither a network nor installed packages.
 *
 * It is run on a copy of the manifests and of the lock file that has the released packages and what they need in production,
 * drivers of stores included, which users install beside them. npm's own `--omit=dev` leaves out every package that is also needed for
 * development somewhere in the workspace: of 161 packages it listed 58. A package that is missing from the copy
 * is an error of `npm sbom`.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { main, root } from "./setup.mjs";

/** Of the files; the whole has the name of the repository's manifest, because `tenure` is one of its packages. */
const NAME = "tenure";
const FORMATS = { cyclonedx: "cdx", spdx: "spdx" };
const MAX_BYTES = 64 * 1024 * 1024;

/** Resolves to the files that were written. */
export async function writeSboms(directory) {
  const copy = await mkdtemp(join(tmpdir(), "tenure-sbom-"));
  try {
    // CycloneDX names the whole after its directory.
    const { name } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    const place = join(copy, name);
    const version = await copyManifests(place);
    await mkdir(directory, { recursive: true });
    const files = [];
    for (const [format, ending] of Object.entries(FORMATS)) {
      const document = named(JSON.parse(await npmSbom(place, format)));
      const file = join(directory, `${NAME}-${version}.${ending}.json`);
      await writeFile(file, `${JSON.stringify(document, null, 2)}\n`);
      files.push(file);
    }
    return files;
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** Of the repository and of each released package; resolves to their version. */
async function copyManifests(place) {
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8"));
  const { name, license, overrides } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const directories = (await readdir(join(root, "packages"))).map((each) => `packages/${each}`);
  const versions = new Set();
  for (const each of directories) {
    const manifest = JSON.parse(await readFile(join(root, each, "package.json"), "utf8"));
    delete manifest.devDependencies;
    versions.add(manifest.version);
    await mkdir(join(place, each), { recursive: true });
    await writeFile(join(place, each, "package.json"), JSON.stringify(manifest));
  }
  if (versions.size !== 1)
    throw new Error(`the packages have different versions: ${[...versions].join(", ")}`);
  const [version] = versions;
  const whole = { name, version, license, private: true, workspaces: directories, overrides };
  const packages = { "": whole };
  for (const path of closure(lock.packages, directories)) {
    const { devDependencies: _, ...entry } = lock.packages[path];
    packages[path] = entry;
  }
  await writeFile(join(place, "package.json"), JSON.stringify(whole));
  await writeFile(join(place, "package-lock.json"), JSON.stringify({ ...lock, name, version, packages }));
  return version;
}

/** Paths in the lock file: these, and all that they need when they run. */
function closure(packages, paths) {
  const found = new Set();
  const waiting = paths.flatMap((path) => [path, ...linksTo(packages, path)]);
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue;
    found.add(path);
    const { link, resolved, dependencies, optionalDependencies, peerDependencies } = packages[path];
    if (link === true) waiting.push(resolved);
    const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
    waiting.push(...names.map((name) => nearest(packages, path, name)).filter((each) => each !== null));
  }
  return found;
}

function linksTo(packages, directory) {
  return Object.keys(packages).filter((path) => packages[path].link && packages[path].resolved === directory);
}

/** As Node looks for it: in this directory, then in each above. `null`: what is optional need not be there. */
function nearest(packages, path, name) {
  for (let at = path; at !== ""; at = at.slice(0, Math.max(0, at.lastIndexOf("/")))) {
    const candidate = `${at}/node_modules/${name}`;
    if (packages[candidate] !== undefined) return candidate;
  }
  return packages[`node_modules/${name}`] === undefined ? null : `node_modules/${name}`;
}

async function npmSbom(cwd, format) {
  const args = ["sbom", "--package-lock-only", "--offline", "--sbom-format", format];
  const { stdout } = await promisify(execFile)("npm", args, { cwd, maxBuffer: MAX_BYTES });
  return stdout;
}

/** npm calls a workspace by its directory; its reference has the name that it is released under. */
function named(document) {
  for (const component of document.components ?? []) {
    component.name = component["bom-ref"].slice(0, component["bom-ref"].lastIndexOf("@"));
  }
  return document;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await main(async () => {
    const files = await writeSboms(resolve(process.argv[2] ?? join(root, "sbom")));
    for (const file of files) process.stdout.write(`${relative(process.cwd(), file)}\n`);
  });
}
