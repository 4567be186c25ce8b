import type { Mutant } from "./mutant.js";

export interface Violation {
  readonly code: string;
  /** In the virtual time of the schedule. */
  readonly atMs: number;
  readonly what: string;
}

/** The result of one schedule. */
export interface ScheduleReport {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly digest: string | null;
}

export interface Schedule {
  readonly seed: number;
  /** The name of one of the profiles. */
  readonly profile: string;
  /** The schedule may end after the first violation for which this is true. */
  readonly until?: (violation: Violation) => boolean;
  /** Hashes what happens; `print` shows it too. */
  readonly traced?: boolean;
  readonly print?: (line: string) => void;
}

/** What the harness needs to know about a simulation. There are two: electors over a store (`core`), and `peers`. */
export interface Simulation<Modules = unknown, Report extends ScheduleReport = ScheduleReport> {
  readonly name: "core" | "peers";
  readonly profiles: readonly string[];
  readonly checks: Readonly<Record<string, string>>;
  readonly mutants: readonly Mutant[];
  /** A mutant that no scenario catches is caught by one of this many schedules, or the test of its rule fails. */
  readonly huntLimit: number;
  /** Mutants that must not break safety: what their rules hide from the schedules must hold without them. */
  readonly harmless: readonly Mutant[];
  /** The packages under test: as built, or copies in which the rule of the mutant is switched off. */
  load(mutant?: Mutant, core?: string): Promise<Modules>;
  run(modules: Modules, schedule: Schedule): Promise<Report>;
  /** Whether the violation shows that the rule of the mutant is switched off. */
  shows(mutant: Mutant, violation: Pick<Violation, "code">): boolean;
  /** The violations in the scenarios that name this mutant; none in a simulation without such scenarios. */
  play(mutant: Mutant): Promise<readonly Violation[]>;
  /** The figures of many schedules in one line. */
  describe(reports: readonly Report[]): string;
}

export const DEFAULT_PROFILE = "usual";

export function profileOf(mutant: Mutant): string {
  return mutant.profile ?? DEFAULT_PROFILE;
}

export function mutantNamed({ mutants, harmless }: Simulation, name: string): Mutant {
  const mutant = [...mutants, ...harmless].find((each) => each.name === name);
  if (mutant === undefined) throw new Error(`no mutant ${name}; --list shows them`);
  return mutant;
}

/** How the simulation is started; options follow. */
export function commandOf({ name }: Simulation): string {
  return name === "peers" ? "npm run sim -- --peers" : "npm run sim --";
}
