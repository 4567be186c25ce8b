import type { Random, StopPlan, VirtualClock } from "@tenure/core/testing";
import type { Checks } from "./checks/checks.js";
import type { CoreModule } from "./core-module.js";
import type { Network } from "./network.js";
import type { Profile } from "./profile.js";
import type { SimServer } from "./sim-server.js";
import type { Trace } from "./trace.js";

/**
 * How the candidates of a schedule wait: in the queue of their server, by campaigning at intervals, or by their watch
 * alone; `mixed`: each in its own way. If all wait in one way, a fault of that way cannot hide behind the others.
 */
export type WaitStyle = "queue" | "polls" | "watch" | "mixed";

/** What all parts of a world share. */
export interface Environment {
  readonly modules: CoreModule;
  readonly profile: Profile;
  readonly driftRatio: number;
  readonly waitStyle: WaitStyle;
  /** Of every process; `null` where none is stopped at readings of its clock. */
  readonly stops: StopPlan | null;
  readonly time: VirtualClock;
  readonly random: Random;
  readonly network: Network;
  readonly servers: readonly SimServer[];
  readonly groupIds: readonly string[];
  readonly checks: Checks;
  /** `null` if the trace is not read: building the lines costs more than the simulation. */
  readonly trace: Trace | null;
  /** Each group and term that some client led, to detect terms that no client led. */
  readonly led: Set<string>;
  readonly counts: {
    elections: number;
    reads: number;
    events: number;
    uselessGrants: number;
    resyncs: number;
  };
}

/** An error that a server may answer; any other error is a fault of the program. */
export function isExpected(environment: Environment, error: unknown): boolean {
  const { core } = environment.modules;
  return (
    error instanceof core.TenureError || (error instanceof Error && error.constructor.name === "CallLost")
  );
}
