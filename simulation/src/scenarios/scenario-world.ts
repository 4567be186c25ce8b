/** What the scenarios of one folder run on, and how one of them is played. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Mutant } from "../harness/mutant.js";
import { type Print, Printed, Scenario, type Vocabulary } from "./scenario.js";

/** The folder of the repository, as far from the sources as from the build. */
export const ROOT: string = fileURLToPath(new URL("../../..", import.meta.url));

/** Ends with the scenario. */
interface Closable {
  close(): void;
}

export interface ScenarioWorld<Stage extends Closable, Modules> {
  /** Below `simulation/scenarios`. */
  readonly folder: "core" | "peers";
  readonly vocabulary: Vocabulary<Stage>;
  /** The packages under test: as built, or copies in which the rule of the mutant is switched off. */
  load(mutant?: Mutant): Promise<Modules>;
  open(modules: Modules, scenario: Scenario<Stage>, print: Print): Stage;
}

/** In order of their names. */
export function scenariosOf<Stage extends Closable>({
  folder,
  vocabulary,
}: Pick<ScenarioWorld<Stage, never>, "folder" | "vocabulary">): readonly Scenario<Stage>[] {
  const path = `simulation/scenarios/${folder}`;
  return readdirSync(join(ROOT, path))
    .toSorted()
    .map((name) => `${path}/${name}`)
    .map((file) => Scenario.parse(file, readFileSync(join(ROOT, file), "utf8"), vocabulary));
}

export interface Played<Stage> {
  /** The file, with what has happened. */
  readonly text: string;
  /** Closed. */
  readonly stage: Stage;
}

export async function play<Stage extends Closable, Modules>(
  world: ScenarioWorld<Stage, Modules>,
  scenario: Scenario<Stage>,
  modules: Modules,
): Promise<Played<Stage>> {
  const printed = new Printed();
  const stage = world.open(modules, scenario, printed.print);
  try {
    return { text: await scenario.play(stage, printed), stage };
  } finally {
    stage.close();
  }
}
