/** Rules on what users install: manifests, READMEs as the registry shows them, and the packages that come along. */
import { posix } from "node:path";
import semver from "semver";
import { lineAt, lineOf, select, workspaces } from "./tree.mjs";

const LOCK = "package-lock.json";
const LINK = /\]\(<?([^()\s<>]+)>?(?:\s+"[^"]*")?\)/g;

export const publishedRules = {
  "complete-manifest": (tree) =>
    workspaces(tree).flatMap((workspace) => completeManifest(workspace, repositoryOf(tree))),
  "readme-outside-of-the-repository": readmeOutsideOfTheRepository,
  "quiet-install": quietInstall,
};

/** The address of the repository, from the only place that states it: `repository` in the manifest of the root. */
export function repositoryOf(tree) {
  const { repository } = JSON.parse(tree.get("package.json") ?? "{}");
  return repository?.url.replace(/^git\+|\.git$/g, "") ?? "";
}

/** What is never published needs no licence, no list of files and no place on the web. */
function completeManifest({ directory, file, text, json }, repository) {
  const isModule = json.type === "module";
  const missing = isModule ? [] : ['"type": "module"'];
  if (json.private === true) return missing.map((field) => lacks(file, field));
  if (typeof json.license !== "string") missing.push('"license"');
  if (typeof json.engines?.node !== "string") missing.push('"engines": { "node": … }');
  if (!Array.isArray(json.files) || json.files.length === 0) missing.push('"files"');
  if (!Array.isArray(json.keywords) || json.keywords.length === 0) missing.push('"keywords"');
  if (json.sideEffects === undefined) missing.push('"sideEffects"');
  const expected = {
    homepage: `${repository}/tree/main/${directory}#readme`,
    bugs: `${repository}/issues`,
    repository: { type: "git", url: `git+${repository}.git`, directory },
  };
  const different = Object.entries(expected)
    .filter(([field, value]) => JSON.stringify(json[field]) !== JSON.stringify(value))
    .map(([field, value]) => ({
      file,
      line: lineOf(text, `"${field}"`),
      problem: `"${field}" must be ${JSON.stringify(value)}, as "repository" in package.json of the root says`,
    }));
  return [...missing.map((field) => lacks(file, field)), ...different];
}

function lacks(file, field) {
  return { file, line: 1, problem: `${field} is missing; add it` };
}

/** A registry shows the README alone: only a link into the package itself may be relative. */
function readmeOutsideOfTheRepository(tree) {
  return workspaces(tree)
    .filter(({ json }) => json.private !== true)
    .flatMap(({ directory }) =>
      select(tree, (file) => file === `${directory}/README.md`).flatMap(({ file, text }) =>
        [...text.matchAll(LINK)]
          .filter(([, target]) => leavesPackage(directory, target))
          .map(({ 1: target, index }) => ({
            file,
            line: lineAt(text, index),
            problem: `${target} is not in the package; write ${repositoryOf(tree)}/blob/main/…`,
          })),
      ),
    );
}

function leavesPackage(directory, target) {
  if (/^(?:[a-z][a-z0-9+.-]*:|#)/i.test(target)) return false;
  return !posix.join(directory, target).startsWith(`${directory}/`);
}

/** npm warns about packages that do not accept the oldest Node, and about scripts that are neither allowed nor denied. */
function quietInstall(tree) {
  const text = tree.get(LOCK);
  if (text === undefined) return [];
  const { engines, allowScripts = {} } = JSON.parse(tree.get("package.json") ?? "{}");
  const oldest = semver.minVersion(engines?.node ?? "*");
  return Object.entries(JSON.parse(text).packages).flatMap(([path, entry]) => {
    const name = path.split("node_modules/").at(-1);
    const problems = [];
    // Optional packages that do not fit are left out without a warning.
    const range = entry.optional === true ? undefined : entry.engines?.node;
    if (range !== undefined && !semver.satisfies(oldest, range)) {
      problems.push(
        `needs Node ${range}, but Tenure supports ${oldest.version}; override it in package.json`,
      );
    }
    if (entry.hasInstallScript === true && !Object.hasOwn(allowScripts, name)) {
      problems.push("has an install script; allow or deny it in allowScripts of package.json");
    }
    return problems.map((problem) => ({
      file: LOCK,
      line: lineOf(text, JSON.stringify(path)),
      problem: `${name} ${problem}`,
    }));
  });
}
