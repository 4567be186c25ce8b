/**
 * `node scripts/count.mjs [--beside DIRECTORY]`: how large the code is, and with `--beside` the same numbers of another checkout:
 * lines, lines of code (without blank lines and comments), files, short files, and the public names of each package.
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { parseSync } from "vite";
import { publicNames } from "./house-rules/options.mjs";
import { isCode, isTest, readTree, workspaces } from "./house-rules/tree.mjs";
import { main, root } from "./setup.mjs";

const MAX_SHORT_LINES = 25;
await main(() => {
  const { values } = parseArgs({ options: { beside: { type: "string" } } });
  const trees = [...(values.beside === undefined ? [] : [resolve(values.beside)]), root].map(readTree);
  const counts = trees.map((tree) => ({ ...countFiles(tree), ...countNames(tree) }));
  for (const what of new Set(counts.flatMap(Object.keys))) {
    const [first, last] = [counts[0][what] ?? 0, counts.at(-1)[what] ?? 0];
    const row =
      counts.length === 1 ? `${last}` : `${first} -> ${last} (${last > first ? "+" : ""}${last - first})`;
    console.log(`${what.padEnd(40)} ${row}`);
  }
});

function countFiles(tree) {
  const files = [...tree]
    .filter(([file]) => isCode(file))
    .map(([file, text]) => ({ file, ...linesOf(file, text) }));
  const kinds = {
    all: files,
    source: files.filter(({ file }) => !isTest(file) && !file.includes(".test-kit.")),
    tests: files.filter(({ file }) => isTest(file) || file.includes(".test-kit.")),
  };
  return Object.fromEntries(
    Object.entries(kinds).flatMap(([kind, group]) => [
      [`${kind}: files`, group.length],
      [
        `${kind}: files of ${MAX_SHORT_LINES} lines or fewer`,
        group.filter(({ lines }) => lines <= MAX_SHORT_LINES).length,
      ],
      [`${kind}: lines`, group.reduce((sum, { lines }) => sum + lines, 0)],
      [`${kind}: lines of code`, group.reduce((sum, { code }) => sum + code, 0)],
    ]),
  );
}

function linesOf(file, text) {
  const { comments } = parseSync(file, text);
  let rest = text;
  for (const { start, end } of comments) {
    rest = rest.slice(0, start) + rest.slice(start, end).replace(/\S/g, " ") + rest.slice(end);
  }
  return {
    lines: text.trimEnd().split("\n").length,
    code: rest.split("\n").filter((line) => line.trim() !== "").length,
  };
}

/** By entry: `@tenure/client` and `@tenure/client/roles` count separately. */
function countNames(tree) {
  return Object.fromEntries(
    workspaces(tree)
      .filter(({ json }) => json.private !== true)
      .flatMap(({ directory, json }) =>
        Object.entries(json.exports ?? {}).map(([path, entry]) => [
          `public names of ${path.replace(/^\./, json.name)}`,
          publicNames(tree, { directory, json: { exports: { [path]: entry } } }).length,
        ]),
      )
      .filter(([, count]) => count > 0),
  );
}
