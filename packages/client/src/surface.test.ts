/**
 * The public names of `@tenure/client` and of its subpaths: each one has a comment at its declaration and a line in
 * docs/CLIENT.md. `./parts` and what is below it are for the other packages of this repository and are not public.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { Election, type Elector } from "./index.js";
import { nodeToLeader, Observer } from "./observer/index.js";
import { RoleManager } from "./roles/index.js";

const CORE = new URL("../../core/src/index.ts", import.meta.url);
const PAGE = new URL("../../../docs/CLIENT.md", import.meta.url);

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, { readonly types: string }>>;
}
const MANIFEST = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as Manifest;

/** What a program imports from, such as `@tenure/client/roles`, with the source of that entry. */
const ENTRIES: readonly (readonly [specifier: string, source: URL])[] = Object.entries(MANIFEST.exports)
  .filter(([subpath]) => !subpath.startsWith("./parts"))
  .map(([subpath, { types }]) => [
    subpath.replace(/^\./, MANIFEST.name),
    new URL(types.replace(/^\.\/dist\/(.*)\.d\.ts$/, "./$1.ts"), import.meta.url),
  ]);

/** The exports of an entry file, each name with the file that it comes from. */
function exportsOf(entry: URL): Map<string, URL> {
  const found = new Map<string, URL>();
  const blocks = readFileSync(entry, "utf8").matchAll(/^export (?:type )?\{([^}]*)\} from "([^"]+)";$/gm);
  for (const [, names = "", from = ""] of blocks) {
    const file = from === "@tenure/core" ? CORE : new URL(from.replace(/\.js$/, ".ts"), entry);
    for (const name of names.split(",")) {
      const plain = name.trim().replace(/^type /, "");
      if (plain !== "") found.set(plain, file);
    }
  }
  return found;
}

/** The comment right above a name's declaration, or `undefined`. */
function commentOf(name: string, file: URL): string | undefined {
  const source = file.href === CORE.href ? exportsOf(CORE).get(name) : file;
  if (source === undefined) return undefined;
  const kind = "(?:abstract class|class|interface|type|function|async function|const)";
  const declared = new RegExp(String.raw`/\*\*((?:(?!\*/)[\s\S])+)\*/\nexport ${kind} ${name}\b`);
  return declared.exec(readFileSync(source, "utf8"))?.[1]?.trim();
}

/** The names that the table in docs/CLIENT.md lists for each entry: its first two cells are the entry and its names. */
function listedNames(): Map<string, string[]> {
  const page = readFileSync(PAGE, "utf8");
  const [, section = ""] = /^## Names\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(page) ?? [];
  const listed = new Map<string, string[]>();
  for (const [, specifier = "", cell = ""] of section.matchAll(/^\| `([^`]+)` *\|([^|]+)\|/gm)) {
    const names = [...cell.matchAll(/`([A-Za-z]+)`/g)].map(([, name = ""]) => name);
    listed.set(specifier, [...(listed.get(specifier) ?? []), ...names]);
  }
  return listed;
}

describe.each(ENTRIES)("the public names of %s", (specifier, source) => {
  const names = exportsOf(source);

  test(`every runtime export of ${specifier} is a public name`, async () => {
    const module = (await import(source.href)) as object;
    expect(Object.keys(module).length).toBeGreaterThan(0);
    expect(Object.keys(module).filter((name) => !names.has(name))).toEqual([]);
  });

  test(`every public name of ${specifier} has a comment at its declaration`, () => {
    const bare = [...names].filter(([name, file]) => commentOf(name, file) === undefined);
    expect(bare.map(([name]) => name)).toEqual([]);
  });

  test(`docs/CLIENT.md lists every public name of ${specifier} and no other`, () => {
    expect(listedNames().get(specifier)?.toSorted()).toEqual([...names.keys()].toSorted());
  });
});

test("docs/CLIENT.md lists no entry that the package does not have", () => {
  expect([...listedNames().keys()].toSorted()).toEqual(ENTRIES.map(([specifier]) => specifier).toSorted());
});

test("a name is public in one entry only", () => {
  const all = ENTRIES.flatMap(([, source]) => [...exportsOf(source).keys()]);
  expect(all.filter((name, index) => all.indexOf(name) !== index)).toEqual([]);
});

test("the root entry includes what every program needs from the core", () => {
  const names = exportsOf(new URL("./index.ts", import.meta.url));
  const needed = [
    ...["Elector", "ElectorAdmin", "Clock", "systemClock", "TenureError", "InvalidRequestError"],
    ...["InvalidTtlError", "BackendUnavailableError", "ClosedError", "ConflictError", "UnauthorizedError"],
  ];
  expect(needed.filter((name) => !names.has(name))).toEqual([]);
});

test("docs/CLIENT.md names every option", () => {
  const page = readFileSync(PAGE, "utf8");
  const elector = {} as Elector;
  const node = { nodeId: "a", ttlMs: 5_000 };
  const given = { ...node, groupId: "g" };
  const unknown = { "?": 1 } as never;
  const refusals: [part: string, refused: () => unknown][] = [
    ["", () => new Election(elector, unknown)],
    ["fencing.", () => new Election(elector, { ...given, fencing: unknown })],
    ["retry.", () => new Election(elector, { ...given, retry: unknown })],
    ["", () => new Observer(elector, unknown)],
    ["", () => nodeToLeader(unknown)],
    ["", () => new RoleManager(elector, unknown)],
    ["spread.", () => new RoleManager(elector, { ...node, spread: unknown })],
    ["", () => new RoleManager(elector, node).add("r", unknown)],
  ];
  for (const [part, refused] of refusals) {
    // An unknown option is refused with the names of the known ones.
    const known = messageOf(refused)
      .replace(/^.* known are /, "")
      .split(", ");
    expect(known.length).toBeGreaterThan(2);
    const single = known.filter((name) => !["fencing", "spread", "retry"].includes(name) || part !== "");
    expect(single.filter((name) => !page.includes(`\`${part}${name}\``))).toEqual([]);
  }
});

/** The names that `declared` captures in a source file: fields of an interface, or parameters of a function. */
function namesIn(file: string, declared: RegExp): readonly string[] {
  const [, text = ""] = declared.exec(readFileSync(new URL(file, import.meta.url), "utf8")) ?? [];
  return [...text.matchAll(/(?:^ {2}readonly |, |^)(\w+)\??: /gm)].map(([, name = ""]) => name);
}

const PROMOTE_HOOK = /^export type PromoteHook = \(([^)]*)\)/m;
const [STEP_DOWN, TRANSFER, MODULE] = ["StepDownRequest", "TransferRequest", "ElectorModule"].map(
  (name) => new RegExp(String.raw`^export interface ${name} \{\n([\s\S]*?)^\}`, "m"),
) as [RegExp, RegExp, RegExp];

test.each([
  ["every argument of onPromote", "./election/election.ts", PROMOTE_HOOK, /^- `onPromote\((.*?)\)`/m],
  ["what stepDown takes", "../../core/src/elector-admin.ts", STEP_DOWN, /^- `stepDown\((.*?)\)`/m],
  ["what transfer takes", "../../core/src/elector-admin.ts", TRANSFER, /^- `transfer\((.*?)\)`/m],
  [
    "how a thread opens a store",
    "./worker/thread-elector.ts",
    MODULE,
    /^- \*\*A store\*\*: ([\s\S]*?)(?=\n\n)/m,
  ],
])("docs/CLIENT.md names %s", (_what, file, declared, place) => {
  const names = namesIn(file, declared);
  expect(names.length).toBeGreaterThan(2);
  const [, text = ""] = place.exec(readFileSync(PAGE, "utf8")) ?? [];
  expect(names.filter((name) => !new RegExp(String.raw`\b${name}\b`).test(text))).toEqual([]);
});

test.each([
  ["the servers of a service for a thread", "- **A service**: `{ endpoints: ["],
  ["the store of a thread", '`{ module: import.meta.resolve("@tenure/client"), argument: "nats://'],
  ["that by is required", "`by` names the caller and is required in"],
  ["that history() is a request", "`history()` asks the elector and resolves with"],
  ["the types that a project has to install", "need `@types/node` in your project"],
])("docs/CLIENT.md documents %s", (_what, text) => {
  // Lines may be wrapped anywhere.
  expect(readFileSync(PAGE, "utf8").replaceAll(/\s+/g, " ")).toContain(text);
});

function messageOf(refused: () => unknown): string {
  try {
    refused();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("nothing was refused");
}
