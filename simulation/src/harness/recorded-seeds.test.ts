import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import type { Mutant } from "./mutant.js";
import type { Batch } from "./pool.js";
import { huntRecorded, readSeeds, recordSeeds } from "./recorded-seeds.js";
import type { ScheduleReport, Simulation } from "./simulation.js";
import type { Hunt, Schedules } from "./survey.js";

const LIMIT = 60;

const mutant: Mutant = { name: "no-margin", rule: "for this test", patches: [] };

function simulationOf(mutants: readonly Mutant[]): Simulation {
  return {
    name: "core",
    profiles: ["usual"],
    checks: { S1: "two leaders" },
    mutants,
    huntLimit: LIMIT,
    harmless: [],
    load: () => Promise.resolve(null),
    run: () => Promise.reject(new Error("a worker does that")),
    shows: () => true,
    play: () => Promise.resolve([]),
    describe: () => "",
  };
}

/** Schedules that catch the mutant at one seed only. */
class FakeSchedules implements Schedules {
  readonly seeds: number[] = [];
  readonly #catches: number;

  constructor(catches: number) {
    this.#catches = catches;
  }

  run<R extends ScheduleReport>(_: Simulation<unknown, R>, { from, count }: Batch): Promise<readonly R[]> {
    const seeds = Array.from({ length: count }, (_each, index) => from + index);
    this.seeds.push(...seeds);
    const violations = [{ code: "S1", atMs: 1, what: "for this test" }];
    const reports = seeds.map((seed) => ({
      seed,
      violations: seed === this.#catches ? violations : [],
      digest: null,
    }));
    return Promise.resolve(reports as unknown as readonly R[]);
  }
}

async function huntWith(schedules: Schedules, seed: number | undefined): Promise<[Hunt, readonly string[]]> {
  const warnings: string[] = [];
  const warn = (line: string): void => void warnings.push(line);
  const found = await huntRecorded(schedules, simulationOf([mutant]), mutant, seed, warn);
  return [found, warnings];
}

it("a recorded seed that catches the mutant is the only schedule", async () => {
  const schedules = new FakeSchedules(37);
  const [found, warnings] = await huntWith(schedules, 37);
  expect(schedules.seeds).toEqual([37]);
  expect(found.caught).toMatchObject([{ code: "S1", seed: 37 }]);
  expect(warnings).toEqual([]);
});

it("a stale seed is reported, and the mutant is hunted from seed 1 on", async () => {
  const [found, warnings] = await huntWith(new FakeSchedules(37), 5);
  expect(found.caught).toMatchObject([{ code: "S1", seed: 37 }]);
  expect(warnings).toEqual([
    "mutant no-margin is caught at seed 37, but its recorded seed 5 is stale; refresh the record: npm run sim -- --mutant no-margin --record",
  ]);
});

it("a mutant without a recorded seed is hunted, and its seed is reported", async () => {
  const [found, warnings] = await huntWith(new FakeSchedules(3), undefined);
  expect(found.caught).toMatchObject([{ seed: 3 }]);
  expect(warnings).toEqual([
    "mutant no-margin is caught at seed 3, but no seed of it is recorded; refresh the record: npm run sim -- --mutant no-margin --record",
  ]);
});

it("a mutant that no schedule up to the limit catches is reported as not caught, whatever is recorded", async () => {
  const schedules = new FakeSchedules(LIMIT + 1);
  const [found, warnings] = await huntWith(schedules, 5);
  expect(found).toMatchObject({ caught: [], schedules: LIMIT });
  expect(schedules.seeds).toEqual([5, ...Array.from({ length: LIMIT }, (_, index) => index + 1)]);
  expect(warnings).toEqual([]);
});

const folder = mkdtempSync(join(tmpdir(), "tenure-seeds-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("a record keeps mutants that were not searched, and drops those that no longer exist", () => {
  const [a, b, c] = ["a", "b", "c"].map((name) => ({ ...mutant, name })) as [Mutant, Mutant, Mutant];
  recordSeeds(
    simulationOf([a, b]),
    new Map([
      ["b", 2],
      ["a", 1],
    ]),
    folder,
  );
  expect(Object.entries(readSeeds(simulationOf([]), folder))).toEqual([
    ["a", 1],
    ["b", 2],
  ]);
  recordSeeds(simulationOf([c, b]), new Map([["c", 3]]), folder);
  expect(Object.entries(readSeeds(simulationOf([]), folder))).toEqual([
    ["c", 3],
    ["b", 2],
  ]);
});
