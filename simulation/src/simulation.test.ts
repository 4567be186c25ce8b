import { afterAll, describe, expect, it } from "vitest";
import { loadCore } from "./core-module.js";
import { MUTANTS } from "./mutants/mutants.js";
import { Pool } from "./pool.js";
import { profileNamed } from "./profile.js";
import { hunt, survey } from "./survey.js";
import { World } from "./world.js";

const MINUTES = 60_000;
/** No mutant may outlive so many schedules; the hardest take about half of it. */
const LIMIT = 400;

const pool = Pool.start();
afterAll(() => pool[Symbol.asyncDispose]());

describe("the rules as they stand", () => {
  it.concurrent.each([
    ["usual", 100],
    ["stops", 80],
    ["churn", 50],
    ["handovers", 40],
    ["groups", 30],
    ["busy-admin", 40],
    ["wall-jumps", 20],
    ["operator", 50],
    ["preempt", 40],
    ["standby", 40],
    ["watch-all", 25],
    ["upgrades", 25],
    ["versions", 25],
    ["silence", 30],
    ["members", 25],
    ["elections", 30],
    ["election-stops", 20],
    ["frozen-servers", 12],
    ["slow", 20],
    ["patches", 10],
  ])(
    "hold in a world of the kind %s, in each of %i schedules",
    { timeout: 10 * MINUTES },
    async (profile, count) => {
      const report = await survey(pool, { profile, from: 1, count });
      expect(report.caught).toEqual([]);
      expect(report.schedules).toBe(count);
      // Where leases are long there are few.
      expect(report.figures.terms).toBeGreaterThan((profile === "frozen-servers" ? 2 : 5) * count);
    },
  );
});

it(
  "no wall clock takes part: the same seeds come to the same with one that jumps by hours",
  { timeout: 10 * MINUTES },
  async () => {
    const [usual, jumping] = await Promise.all(
      ["usual", "wall-jumps"].map((profile) => survey(pool, { profile, from: 5001, count: 50 })),
    );
    expect(jumping).toEqual(usual);
  },
);

describe("each rule is needed", () => {
  it.concurrent.each(MUTANTS)("$name is caught: $rule", { timeout: 10 * MINUTES }, async (mutant) => {
    const report = await hunt(pool, mutant, 1, LIMIT);
    expect(report.caught, `not caught in ${report.schedules} schedules`).not.toEqual([]);
    // Caught by what it does to the election, not by falling over.
    expect(report.caught.map((each) => each.code)).not.toContain("E1");
  });
});

describe("a seed", () => {
  it.each(["usual", "groups", "churn", "elections", "frozen-servers"])(
    "gives the same %s schedule again, to the last line of its trace",
    async (name) => {
      const modules = await loadCore();
      const profile = profileNamed(name);
      const digests = async (seed: number) =>
        (await new World({ seed, profile, modules, traced: true }).run()).digest;
      // Side by side with others, and alone.
      const first = await Promise.all([11, 12, 13].map(digests));
      const second = [];
      for (const seed of [11, 12, 13]) second.push(await digests(seed));
      expect(second).toEqual(first);
      expect(new Set(first).size).toBe(3);
    },
  );
});
