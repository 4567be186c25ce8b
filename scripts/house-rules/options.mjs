/** The public names of packages, and the rule that every option behind them says what happens without it. */
import { posix } from "node:path";
import { parseSync } from "vite";
import { lineAt, select, workspaces } from "./tree.mjs";

/** Entries for the other packages of this repository and for tests: their names are no promise. */
const NOT_PUBLIC = /^\.\/(?:internal|parts|testing|conformance)(?:\/|$)/;

export const optionRules = { "documented-options": documentedOptions };

/** The public names of a package: `{ name, file }`, with the file that an entry takes the name from. A name counts once. */
export function publicNames(tree, { directory, json }) {
  const found = new Map();
  for (const [path, { types }] of Object.entries(json.exports ?? {})) {
    if (types === undefined || NOT_PUBLIC.test(path)) continue;
    const entry = `${directory}/${types.replace(/^\.\/dist\/(.*)\.d\.ts$/, "src/$1.ts")}`;
    const { staticExports } = parseSync(entry, tree.get(entry) ?? "").module;
    for (const { exportName, moduleRequest } of staticExports.flatMap((each) => each.entries)) {
      const from = moduleRequest?.value.replace(/\.js$/, ".ts") ?? posix.basename(entry);
      found.set(exportName.name, from.startsWith("@") ? from : posix.join(posix.dirname(entry), from));
    }
  }
  return [...found].map(([name, file]) => ({ name, file }));
}

/** In the file of a public `…Options`, each member that may be left out. */
function documentedOptions(tree) {
  const files = new Set(
    workspaces(tree)
      .filter(({ json }) => json.private !== true)
      .flatMap((workspace) => publicNames(tree, workspace))
      .flatMap(({ name, file }) => (name.endsWith("Options") ? [file] : [])),
  );
  return select(tree, (file) => files.has(file)).flatMap(({ file, text }) => {
    const { program, comments } = parseSync(file, text);
    return membersOf(program)
      .filter(({ start }) => !commentBefore(start, text, comments).includes("@defaultValue"))
      .map(({ key, start }) => ({
        file,
        line: lineAt(text, start),
        problem: `the option ${key.name} has no @defaultValue in its comment; say what happens without it`,
      }));
  });
}

function membersOf(program) {
  return program.body
    .map(({ declaration }) => declaration)
    .filter((each) => each?.type === "TSInterfaceDeclaration" && each.id.name.endsWith("Options"))
    .flatMap(({ body }) => body.body)
    .filter(({ type, optional }) => type === "TSPropertySignature" && optional);
}

function commentBefore(start, text, comments) {
  const last = comments.findLast(({ end }) => end <= start);
  return last !== undefined && text.slice(last.end, start).trim() === "" ? last.value : "";
}
