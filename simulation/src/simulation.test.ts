import { afterAll, describe, expect, it } from "vitest";
import { loadCore } from "./core-module.js";
import { CORE_SIMULATION } from "./core-simulation.js";
import { Pool } from "./harness/pool.js";
import { huntRecorded, readSeeds } from "./harness/recorded-seeds.js";
import { survey, violationsIn } from "./harness/survey.js";

const MINUTES = 60_000;

const pool = Pool.start();
afterAll(() => pool[Symbol.asyncDispose]());

// A part of what `npm run sim -- --profile all` runs, with 200 schedules of each. The mutants below show what these worlds notice.
describe("the rules in simulation", () => {
  it.concurrent.each([
    ["usual", 10],
    ["stops", 13],
    ["churn", 8],
    ["handovers", 6],
    ["groups", 5],
    ["busy-admin", 6],
    ["operator", 8],
    ["preempt", 6],
    ["standby", 6],
    ["watch-all", 4],
    ["upgrades", 4],
    ["versions", 4],
    ["silence", 5],
    ["members", 4],
    ["elections", 5],
    ["election-stops", 4],
    ["frozen-servers", 4],
    ["slow", 4],
    ["patches", 4],
  ])(
    "the rules hold in the world %s, in each of %i schedules",
    { timeout: 10 * MINUTES },
    async (profile, count) => {
      const reports = await survey(pool, CORE_SIMULATION, { profile, from: 1, count });
      expect(violationsIn(reports)).toEqual([]);
      expect(reports.length).toBe(count);
      const terms = reports.reduce((total, { figures }) => total + figures.terms, 0);
      // With long leases there are few terms.
      expect(terms).toBeGreaterThan((profile === "frozen-servers" ? 2 : 5) * count);
    },
  );
});

it(
  "no wall clock matters: the same seeds have the same result with one that jumps by hours",
  { timeout: 10 * MINUTES },
  async () => {
    const [usual, jumping] = await Promise.all(
      ["usual", "wall-jumps"].map((profile) =>
        survey(pool, CORE_SIMULATION, { profile, from: 5001, count: 8 }),
      ),
    );
    expect(jumping).toEqual(usual);
    expect(violationsIn(usual ?? [])).toEqual([]);
  },
);

describe("mutants of the rules", () => {
  const { mutants } = CORE_SIMULATION;
  const seeds = readSeeds(CORE_SIMULATION);

  it.concurrent.each(mutants)(
    "the mutant $name is caught: $rule",
    { timeout: 10 * MINUTES },
    async (mutant) => {
      const found = await huntRecorded(pool, CORE_SIMULATION, mutant, seeds[mutant.name], console.warn);
      expect(found.caught, `not caught in ${found.schedules} schedules`).not.toEqual([]);
    },
  );
});

describe("reproduction by seed", () => {
  it.each(["usual", "groups", "churn", "elections", "frozen-servers"])(
    "a seed reproduces its %s schedule, to the last line of its trace",
    async (profile) => {
      const modules = await loadCore();
      const digests = async (seed: number) =>
        (await CORE_SIMULATION.run(modules, { seed, profile, traced: true })).digest;
      // Concurrently with others, and alone.
      const first = await Promise.all([11, 12].map(digests));
      expect([await digests(11), await digests(12)]).toEqual(first);
      expect(first[0]).not.toBe(first[1]);
    },
  );
});
