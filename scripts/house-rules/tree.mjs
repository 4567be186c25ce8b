/** The repository's own files, and small tools to look into their text. */
import { execFileSync } from "node:child_process";
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const NOT_OURS = new Set([".git", "node_modules", "dist", "coverage", "tenure-data"]);
const BINARY = /\.(?:png|jpe?g|gif|ico|woff2?|pdf|gz|zip)$/;

/** Path to text of every file that is, or would be, in the repository. */
export function readTree(directory) {
  const tree = new Map();
  for (const path of listFiles(directory)) {
    // A file deleted but not yet committed is still listed.
    const status = lstatSync(join(directory, path), { throwIfNoEntry: false });
    if (status?.isFile() === true) {
      tree.set(path, BINARY.test(path) ? "" : readFileSync(join(directory, path), "utf8"));
    }
  }
  return tree;
}

function listFiles(directory) {
  const git = ["-C", directory, "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  try {
    const listed = execFileSync("git", git, {
      encoding: "utf8",
      maxBuffer: 1 << 26,
      stdio: ["ignore", "pipe", "ignore"],
    });
    return listed.split("\0").filter((path) => path !== "");
  } catch {
    // Not a clone but a plain copy, or no git here: look at the directory itself.
    return walk(directory, "");
  }
}

function walk(directory, prefix) {
  return readdirSync(join(directory, prefix), { withFileTypes: true }).flatMap((entry) => {
    if (NOT_OURS.has(entry.name)) return [];
    const path = prefix + entry.name;
    return entry.isDirectory() ? walk(directory, `${path}/`) : [path];
  });
}

export const isCode = (path) => /\.(?:ts|tsx|mts|mjs|js)$/.test(path);
export const isTest = (path) => /\.test\.(?:ts|tsx|mjs)$/.test(path);

/** Files whose path matches, as `{ file, text }`. */
export function select(tree, wanted) {
  return [...tree].filter(([file]) => wanted(file)).map(([file, text]) => ({ file, text }));
}

export const DEPENDENCY_KINDS = [
  "dependencies",
  "peerDependencies",
  "optionalDependencies",
  "devDependencies",
];

/** The packages of this repository, by their package.json. */
export function workspaces(tree) {
  const manifest =
    /^(?:packages\/([^/]+)|scripts\/(engines)|simulation|benchmarks|examples(?:\/[^/]+)?)\/package\.json$/;
  return select(tree, (file) => manifest.test(file)).map(({ file, text }) => {
    const directory = file.slice(0, -"/package.json".length);
    const name = manifest.exec(file)[1] ?? manifest.exec(file)[2] ?? directory.split("/")[0];
    return { name, directory, file, text, json: JSON.parse(text) };
  });
}

/** One finding per line that matches. */
export function findLines(file, text, pattern, problem) {
  return text.split("\n").flatMap((line, index) => {
    const match = pattern.exec(line);
    return match === null ? [] : [{ file, line: index + 1, problem: problem(match) }];
  });
}

/**
 * The text with its comments blanked, each line in its place. Told by the start of the line or by white space before
 * `//`: no parser, and good enough for code that the formatter has laid out.
 */
export function withoutComments(text) {
  return text
    .replace(/(^|\n)[ \t]*\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, " "))
    .replace(/(^|\s)\/\/.*$/gm, "$1")
    .replace(/\s\/\*.*?\*\//g, " ");
}

/** Every module named in an import or a re-export, static or dynamic: `{ line, name }`. */
export function importsOf(text) {
  const code = withoutComments(text);
  const pattern = /(?:\bfrom|^\s*import|\bimport\()\s*"([@\w./:-]+)"/gm;
  return [...code.matchAll(pattern)].map((match) => ({ line: lineAt(code, match.index), name: match[1] }));
}

/** The line of an offset, from 1. White space before what is meant is passed over. */
export function lineAt(text, offset) {
  const start = offset + text.slice(offset).search(/\S|$/);
  return text.slice(0, start).split("\n").length;
}

/** The line on which `word` first stands, for findings in JSON files. */
export function lineOf(text, word) {
  const index = text.indexOf(word);
  return index < 0 ? 1 : lineAt(text, index);
}
