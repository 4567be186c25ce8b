/** Each scenario of core as it is written, and each without the rule that it guards. */
import { expect, it } from "vitest";
import { electorMutant } from "./elector-mutants.js";
import { ELECTOR_SCENARIOS } from "./elector-scenarios.js";
import { play, scenariosOf } from "./scenario-world.js";

const scenarios = scenariosOf(ELECTOR_SCENARIOS);

it.each(scenarios.map((scenario) => [scenario.file, scenario.rule, scenario] as const))(
  "%s: %s",
  async (_file, _rule, scenario) => {
    const { text } = await play(ELECTOR_SCENARIOS, scenario, await ELECTOR_SCENARIOS.load());
    expect(text).not.toContain("VIOLATION");
    expect(text).toBe(scenario.text);
  },
);

it.each(
  scenarios.flatMap((scenario) =>
    scenario.mutants.map((mutant) => [scenario.file, mutant, scenario] as const),
  ),
)("%s fails with the mutant %s", async (_file, mutant, scenario) => {
  const modules = await ELECTOR_SCENARIOS.load(electorMutant(mutant));
  const { text } = await play(ELECTOR_SCENARIOS, scenario, modules);
  expect(text).not.toBe(scenario.text);
});
