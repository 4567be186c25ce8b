/**
 * `node deploy/docker/assemble.mjs DIRECTORY`, in a built repository: copies the `tenure` command, the packages of this
 * repository that it needs and their locked dependencies, drivers of all stores included, to a directory of their own.
 * Sources, types, maps and tests stay behind. An empty `/data` beside it becomes the volume of the image.
 */
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const COMMAND = "tenure";
const NOT_NEEDED =
  /(?:\.d\.[cm]?ts|\.map|\.md|\.markdown|\.c|\.cc|\.cpp|\.h|\.gyp|\.tsbuildinfo|\.test(?:-kit)?\.js)$|\/\.bin(?:\/|$)/;

/** The keys of the lock file of everything that the command needs: `node_modules/a/node_modules/b`. */
export function closure(packages, from = COMMAND) {
  const found = new Set();
  const open = [`node_modules/${from}`];
  for (let key = open.pop(); key !== undefined; key = open.pop()) {
    if (found.has(key)) continue;
    found.add(key);
    const entry = packages[packages[key].link ? packages[key].resolved : key];
    const {
      dependencies = {},
      optionalDependencies = {},
      peerDependencies = {},
      peerDependenciesMeta = {},
    } = entry;
    // The drivers of stores are optional peers of our own packages; another package's optional peers are its own affair.
    const isOwn = packages[key].link === true;
    const peers = Object.keys(peerDependencies).filter(
      (name) => isOwn || !peerDependenciesMeta[name]?.optional,
    );
    const place = packages[key].link ? packages[key].resolved : key;
    for (const name of [...Object.keys(dependencies), ...Object.keys(optionalDependencies), ...peers]) {
      const next = resolved(packages, place, name);
      if (next !== null) open.push(next);
      else if (optionalDependencies[name] === undefined)
        throw new Error(`${key} needs ${name}, which is not locked`);
    }
  }
  return [...found];
}

/** As Node looks for it: in the nearest node_modules upwards. */
function resolved(packages, from, name) {
  for (let place = from; ; place = dirname(place)) {
    const key = place === "." ? `node_modules/${name}` : `${place}/node_modules/${name}`;
    if (packages[key] !== undefined) return key;
    if (place === ".") return null;
  }
}

export function assemble(target) {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
  for (const key of closure(packages)) {
    const { link = false, resolved: directory } = packages[key];
    const source = join(ROOT, link ? directory : key);
    // An optional package of another platform is locked, but not installed.
    if (!existsSync(source)) continue;
    if (link) copyOwn(source, join(target, key));
    else copy(source, join(target, key));
  }
  mkdirSync(join(target, "bin"), { recursive: true });
  const command = join(target, "bin/tenure");
  writeFileSync(command, `#!/usr/local/bin/node\nimport("../node_modules/${COMMAND}/bin/tenure.js");\n`);
  chmodSync(command, 0o755);
  for (const [from, to] of [
    ["deploy/docker/health.mjs", "health.mjs"],
    ["LICENSE", "LICENSE"],
  ])
    copyFileSync(join(ROOT, from), join(target, to));
  mkdirSync(join(dirname(target), "data"), { recursive: true });
}

/** What npm would publish of a package of this repository. */
function copyOwn(source, target) {
  const { files } = JSON.parse(readFileSync(join(source, "package.json"), "utf8"));
  const wanted = files.filter((pattern) => !pattern.startsWith("!") && !pattern.includes("*"));
  for (const each of ["package.json", ...wanted]) copy(join(source, each), join(target, each));
  if (wanted.length < files.filter((pattern) => !pattern.startsWith("!")).length)
    copy(join(source, "dist"), join(target, "dist"));
}

/** Without the packages inside: those that are needed have a key of their own. */
function copy(source, target) {
  cpSync(source, target, {
    recursive: true,
    filter: (file) => !NOT_NEEDED.test(file) && !file.slice(source.length).includes("/node_modules"),
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [target] = process.argv.slice(2);
  if (target === undefined) throw new Error("usage: node deploy/docker/assemble.mjs DIRECTORY");
  assemble(resolve(target));
}
