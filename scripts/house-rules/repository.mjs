/** Rules on the repository as a whole: nothing of one machine in it, complete manifests, documented errors. */
import { DEPENDENCY_KINDS, findLines, lineOf, select, workspaces } from "./tree.mjs";

const MACHINE_PATH = /(?<![\w.~$}*-])\/(?:(?:work|root)\/|(?:home|Users)\/\w)[\w./-]*/;
const PACKAGE_HOST = /https?:\/\/[^\s/"'`)]*(?:npm|yarnpkg|debian|pypi)[^\s/"'`)]*/;
const LOCK = "package-lock.json";
const ERRORS = "packages/core/src/errors.ts";
const OTHER_ERRORS = /^packages\/(?!core\/)[^/]+\/src\/(?:.*\/)?errors\.ts$/;
const ERRORS_PAGE = "docs/ERRORS.md";

export const repositoryRules = {
  "no-machine-paths": (tree) =>
    select(tree, (file) => file !== LOCK).flatMap(({ file, text }) => [
      ...findLines(
        file,
        text,
        MACHINE_PATH,
        ([found]) => `${found} is a path of one machine; make it relative or a setting`,
      ),
      ...findLines(
        file,
        text,
        PACKAGE_HOST,
        ([found]) => `${found} is a package host; leave the choice to the user's npm`,
      ),
    ]),
  "lock-without-hosts": (tree) =>
    findLines(LOCK, tree.get(LOCK) ?? "", /"resolved": "(?!file:)\w+:[^"]*"/, ([found]) => {
      return `${found} ties the lock file to a host; install with npm's omit-lockfile-registry-resolved`;
    }),
  "lock-in-step": lockInStep,
  "documented-errors": documentedErrors,
};

/** Else everyone who installs gets versions of their own. */
function lockInStep(tree) {
  const text = tree.get(LOCK);
  if (text === undefined) return [];
  const { packages } = JSON.parse(text);
  const rootText = tree.get("package.json") ?? "{}";
  const repository = { directory: "", file: "package.json", text: rootText, json: JSON.parse(rootText) };
  return [repository, ...workspaces(tree)].flatMap(({ directory, file, text: manifest, json }) =>
    DEPENDENCY_KINDS.filter((kind) => !sameEntries(json[kind], packages[directory]?.[kind])).map((kind) => ({
      file,
      line: lineOf(manifest, `"${kind}"`),
      problem: `${LOCK} has other ${kind} for it; run npm install`,
    })),
  );
}

function sameEntries(a = {}, b = {}) {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => a[name] === b[name]);
}

function documentedErrors(tree) {
  const text = tree.get(ERRORS);
  if (text === undefined) return [];
  const union = /export type ErrorCode =([^;]*);/.exec(text)?.[1];
  if (union === undefined)
    return [{ file: ERRORS, line: 1, problem: "the union ErrorCode is not found; keep it here" }];
  const ofCore = [...union.matchAll(/"[A-Z_]+"/g)].map(([quoted]) => ({ file: ERRORS, text, quoted }));
  const ofOthers = select(tree, (file) => OTHER_ERRORS.test(file)).flatMap(({ file, text: classes }) =>
    [...classes.matchAll(/readonly code = ("[A-Z_]+")/g)].map(([, quoted]) => ({
      file,
      text: classes,
      quoted,
    })),
  );
  return [...ofCore, ...ofOthers].flatMap((found) => undocumented(found, tree.get(ERRORS_PAGE) ?? ""));
}

function undocumented({ file, text, quoted }, page) {
  const code = quoted.slice(1, -1);
  if (new RegExp(`^#+ .*\\b${code}\\b`, "m").test(page)) return [];
  const problem = `${code} has no heading in ${ERRORS_PAGE}; say when it comes, what it means and what to do`;
  return [{ file, line: lineOf(text, quoted), problem }];
}
