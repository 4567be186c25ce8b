/** The public names of `@tenure/client`: each one has a comment at its declaration and a line in docs/CLIENT.md. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as surface from "./index.js";

const CORE = new URL("../../core/src/index.ts", import.meta.url);
const PAGE = new URL("../../../docs/CLIENT.md", import.meta.url);
const ENTRY = new URL("./index.ts", import.meta.url);

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

describe("the public names of the client package", () => {
  const names = exportsOf(ENTRY);

  test("every runtime export of the entry file is a public name", () => {
    expect(Object.keys(surface).filter((name) => !names.has(name))).toEqual([]);
  });

  test("every public name has a comment at its declaration", () => {
    const bare = [...names].filter(([name, file]) => commentOf(name, file) === undefined);
    expect(bare.map(([name]) => name)).toEqual([]);
  });

  test("docs/CLIENT.md lists every public name and no other", () => {
    const page = readFileSync(PAGE, "utf8");
    const [, section = ""] = /^## Names\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(page) ?? [];
    const listed = [...section.matchAll(/^\| ([^|]+)\|/gm)].flatMap(([, cell = ""]) =>
      [...cell.matchAll(/`([A-Za-z]+)`/g)].map(([, name = ""]) => name),
    );
    expect(
      [...names.keys()].filter((name) => !listed.includes(name)),
      "not in docs/CLIENT.md",
    ).toEqual([]);
    expect(
      listed.filter((name) => !names.has(name)),
      "not exported",
    ).toEqual([]);
  });

  test("the public names include what every program needs from the core", () => {
    const needed = [
      ...["Elector", "ElectorAdmin", "Clock", "systemClock", "TenureError", "InvalidRequestError"],
      ...["InvalidTtlError", "BackendUnavailableError", "ClosedError", "ConflictError", "UnauthorizedError"],
    ];
    expect(needed.filter((name) => !names.has(name))).toEqual([]);
  });
});

test("docs/CLIENT.md names every option", () => {
  const page = readFileSync(PAGE, "utf8");
  const elector = {} as surface.Elector;
  const node = { nodeId: "a", ttlMs: 5_000 };
  const given = { ...node, groupId: "g" };
  const unknown = { "?": 1 } as never;
  const refusals: [part: string, refused: () => unknown][] = [
    ["", () => new surface.Election(elector, unknown)],
    ["fencing.", () => new surface.Election(elector, { ...given, fencing: unknown })],
    ["retry.", () => new surface.Election(elector, { ...given, retry: unknown })],
    ["", () => new surface.Observer(elector, unknown)],
    ["", () => surface.nodeToLeader(unknown)],
    ["", () => new surface.RoleManager(elector, unknown)],
    ["spread.", () => new surface.RoleManager(elector, { ...node, spread: unknown })],
    ["", () => new surface.RoleManager(elector, node).add("r", unknown)],
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
  ["what stepDown takes", "../../core/src/elector.ts", STEP_DOWN, /^- `stepDown\((.*?)\)`/m],
  ["what transfer takes", "../../core/src/elector.ts", TRANSFER, /^- `transfer\((.*?)\)`/m],
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
