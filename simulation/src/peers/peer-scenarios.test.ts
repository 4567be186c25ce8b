/** Each scenario of peers as it is written, and each without the rule that it guards. */
import { expect, it } from "vitest";
import { mutantNamed } from "../harness/simulation.js";
import { play, scenariosOf } from "../scenarios/scenario-world.js";
import { PEER_SCENARIOS } from "./peer-scenarios.js";
import { PEER_SIMULATION } from "./peer-simulation.js";

const scenarios = scenariosOf(PEER_SCENARIOS);

it.each(scenarios.map((scenario) => [scenario.file, scenario.rule, scenario] as const))(
  "%s: %s",
  async (_file, _rule, scenario) => {
    const { text, stage } = await play(PEER_SCENARIOS, scenario, await PEER_SCENARIOS.load());
    expect(stage.violations).toEqual([]);
    expect(text).toBe(scenario.text);
  },
);

// A difference is not enough here: a mutant may draw another number and change only the times.
it.each(
  scenarios.flatMap((scenario) =>
    scenario.mutants.map((mutant) => [scenario.file, mutant, scenario] as const),
  ),
)("%s shows a violation with the mutant %s", async (_file, name, scenario) => {
  const mutant = mutantNamed(PEER_SIMULATION, name);
  const { stage } = await play(PEER_SCENARIOS, scenario, await PEER_SCENARIOS.load(mutant));
  expect(stage.violations.filter((violation) => PEER_SIMULATION.shows(mutant, violation))).not.toEqual([]);
});
