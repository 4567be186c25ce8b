import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { CoordinatorCandidate } from "./index.js";
import { COORDINATOR_EVENTS } from "./telemetry/telemetry.js";

const page = read("../../../docs/COORDINATOR.md");

function read(file: string): string {
  return readFileSync(new URL(file, import.meta.url), "utf8");
}

describe("docs/COORDINATOR.md", () => {
  test("docs/COORDINATOR.md names every option, event and variable", () => {
    const told = messageOf(() => new CoordinatorCandidate({ "?": 1 } as never));
    const options = told.replace(/^.* known are /, "").split(", ");
    const variables = read("./candidate/environment.ts").match(/\b(?:COORDINATOR|TENURE|CLUSTER)_[A-Z_]+\b/g);
    const names = [...options, ...COORDINATOR_EVENTS, ...new Set(variables)].filter(
      (name) => name !== "TENURE_CLUSTER_COORDINATOR",
    );
    expect(names.length).toBeGreaterThan(25);
    expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  test("names every field of a Dispatch", () => {
    const [, body = ""] =
      /^export interface Dispatch \{\n([\s\S]*?)^\}/m.exec(read("./polls/poll-orchestrator.ts")) ?? [];
    const fields = [...body.matchAll(/^ {2}readonly (\w+)/gm)].map(([, name = ""]) => name);
    expect(fields).toContain("memberId");
    const [, section = ""] = /A `Dispatch` has ([^\n]+(?:\n[^\n]+)*)/.exec(page) ?? [];
    expect(fields.filter((name) => !section.includes(`\`${name}\``))).toEqual([]);
  });
});

test("the entry of the coordinator exports what every program needs of the client and the core", () => {
  const [, block = ""] = /^export \{([^}]*)\} from "@tenure\/client";$/m.exec(read("./index.ts")) ?? [];
  const names = new Set(block.split(",").map((name) => name.trim().replace(/^type /, "")));
  const needed = [
    ...["Elector", "ElectorAdmin", "openElector", "Clock", "systemClock", "TenureError"],
    ...["InvalidRequestError", "BackendUnavailableError", "ClosedError"],
  ];
  expect(needed.filter((name) => !names.has(name))).toEqual([]);
});

function messageOf(refused: () => unknown): string {
  try {
    refused();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("nothing was refused");
}
