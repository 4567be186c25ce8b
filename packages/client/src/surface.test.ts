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

function messageOf(refused: () => unknown): string {
  try {
    refused();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("nothing was refused");
}
