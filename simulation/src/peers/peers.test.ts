import { afterAll, describe, expect, it } from "vitest";
import { loadPeerMutant } from "./peer-mutant-loader.js";
import { HARMLESS_MUTANTS, PEER_MUTANTS, peerMutantNamed } from "./peer-mutants.js";
import { loadPeers } from "./peer-module.js";
import { peerProfileNamed } from "./peer-profile.js";
import { huntPeers, shows, startPeerPool, surveyPeers } from "./peer-survey.js";
import { PeerWorld } from "./peer-world.js";
import { isSafety } from "./run-peer-schedules.js";
import { SCRIPTS } from "./scripts.js";

const MINUTES = 60_000;
/** No mutant that chance finds may outlive so many schedules. */
const LIMIT = 800;

const pool = startPeerPool();
afterAll(() => pool[Symbol.asyncDispose]());

const scripted = new Set(SCRIPTS.map((script) => script.mutant));

describe("the rules of the peers as they stand", () => {
  it.concurrent.each([
    ["usual", 200],
    ["churn", 200],
    ["views", 150],
    ["duels", 100],
    ["late", 100],
    ["wipes", 150],
    ["lists", 150],
    ["oneway", 100],
    ["absurd", 100],
    ["decisions", 100],
  ])(
    "hold in a world of the kind %s, in each of %i schedules",
    { timeout: 10 * MINUTES },
    async (profile, count) => {
      const report = await surveyPeers(pool, { profile, from: 1, count });
      expect(report.caught).toEqual([]);
      expect(report.schedules).toBe(count);
      expect(report.elections).toBeGreaterThan(count);
      // As a rule within three ttl; the checker itself refuses more than six.
      const late = report.healedTtl.filter((ttl) => ttl > 3);
      expect(late.length).toBeLessThanOrEqual(count / 100);
      expect(report.lost).toBeLessThanOrEqual(count / 50);
    },
  );
});

describe("each rule of the peers is needed", () => {
  const byChance = PEER_MUTANTS.filter(({ name }) => !scripted.has(name));

  it.concurrent.each(byChance)(
    "$name is caught by chance: $rule",
    { timeout: 10 * MINUTES },
    async (mutant) => {
      const report = await huntPeers(pool, mutant, mutant.seed ?? 1, LIMIT);
      expect(report.caught.filter(shows(mutant)), `not caught in ${report.schedules} schedules`).not.toEqual(
        [],
      );
    },
  );

  it.each(SCRIPTS)("$mutant: $story", async ({ mutant, run }) => {
    expect((await run(await loadPeers())).violations).toEqual([]);
    const named = peerMutantNamed(mutant);
    const { violations } = await run(await loadPeerMutant(named));
    const isShown = shows(named);
    expect(violations.filter(isShown)).not.toEqual([]);
  });
});

it.each(HARMLESS_MUTANTS)(
  "without $name nothing is broken: what it hides holds by itself",
  { timeout: 10 * MINUTES },
  async (mutant) => {
    const job = { mutant: mutant.name, profile: mutant.profile ?? "usual", from: 1, count: 100 };
    expect((await surveyPeers(pool, job)).caught.filter(isSafety)).toEqual([]);
  },
);

it("a seed gives the same schedule of peers again, to the last line of its trace", async () => {
  const modules = await loadPeers();
  const profile = peerProfileNamed("churn");
  const digest = async (seed: number) =>
    (await new PeerWorld({ seed, profile, modules, traced: true }).run()).digest;
  const first = await Promise.all([11, 12].map(digest));
  expect([await digest(11), await digest(12)]).toEqual(first);
  expect(first[0]).not.toBe(first[1]);
});
