import { afterAll, describe, expect, it } from "vitest";
import { Pool } from "../harness/pool.js";
import { huntRecorded, readSeeds } from "../harness/recorded-seeds.js";
import { profileOf } from "../harness/simulation.js";
import { survey, violationsIn } from "../harness/survey.js";
import { scenariosOf } from "../scenarios/scenario-world.js";
import { loadPeers } from "./peer-module.js";
import { healedTtls, isSafety, lostIn, PEER_SIMULATION, USUAL_TTL } from "./peer-simulation.js";
import { PEER_SCENARIOS } from "./peer-scenarios.js";

const MINUTES = 60_000;

const pool = Pool.start();
afterAll(() => pool[Symbol.asyncDispose]());

/** `peer-scenarios.test.ts` shows that scenarios catch these. Those that have a recorded seed are caught by chance as well. */
const inScenarios = new Set(scenariosOf(PEER_SCENARIOS).flatMap(({ mutants }) => mutants));

describe("the rules of the peers in simulation", () => {
  // A part of what `npm run sim -- --peers --profile all` runs, with 200 schedules of each.
  it.concurrent.each([
    ["usual", 30],
    ["churn", 30],
    ["views", 25],
    ["duels", 20],
    ["late", 18],
    ["wipes", 25],
    ["lists", 25],
    ["oneway", 20],
    ["absurd", 20],
    ["decisions", 18],
  ])(
    "the rules of the peers hold in the world %s, in each of %i schedules",
    { timeout: 10 * MINUTES },
    async (profile, count) => {
      const reports = await survey(pool, PEER_SIMULATION, { profile, from: 1, count });
      expect(violationsIn(reports)).toEqual([]);
      expect(reports.length).toBe(count);
      expect(reports.reduce((total, { elections }) => total + elections, 0)).toBeGreaterThan(count);
      // The checker itself refuses more than six.
      const late = healedTtls(reports).filter((ttl) => ttl > USUAL_TTL);
      expect(late.length).toBeLessThanOrEqual(count / 100);
      expect(lostIn(reports)).toBeLessThanOrEqual(count / 50);
    },
  );
});

describe("mutants of the rules of the peers", () => {
  const seeds = readSeeds(PEER_SIMULATION);
  const byChance = PEER_SIMULATION.mutants.filter(
    ({ name }) => !inScenarios.has(name) || seeds[name] !== undefined,
  );

  it.concurrent.each(byChance)(
    "the mutant $name is caught by random schedules: $rule",
    { timeout: 10 * MINUTES },
    async (mutant) => {
      const found = await huntRecorded(pool, PEER_SIMULATION, mutant, seeds[mutant.name], console.warn);
      expect(found.caught, `not caught in ${found.schedules} schedules`).not.toEqual([]);
    },
  );
});

it.each(PEER_SIMULATION.harmless)(
  "the harmless mutant $name breaks no safety rule",
  { timeout: 10 * MINUTES },
  async (mutant) => {
    const batch = { mutant: mutant.name, profile: profileOf(mutant), from: 1, count: 50 };
    const reports = await survey(pool, PEER_SIMULATION, batch);
    expect(violationsIn(reports).filter(isSafety)).toEqual([]);
  },
);

it("a seed reproduces its schedule of peers, to the last line of its trace", async () => {
  const modules = await loadPeers();
  const digest = async (seed: number) =>
    (await PEER_SIMULATION.run(modules, { seed, profile: "churn", traced: true })).digest;
  const first = await Promise.all([11, 12].map(digest));
  expect([await digest(11), await digest(12)]).toEqual(first);
  expect(first[0]).not.toBe(first[1]);
});
