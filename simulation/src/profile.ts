import type { StopPlan } from "@tenure/core/testing";

/** What kind of world a schedule runs in. Everything else is drawn from the seed. */
export interface Profile {
  readonly groups: number;
  /** An operator who changes the policy every 120 ms, also after the faults have ended. */
  readonly busyAdmin: boolean;
  /** One elector's wall clock jumps by up to an hour, again and again. */
  readonly wallJumps: boolean;
  /** Waiting candidates of higher priority ask the leader to hand over. */
  readonly preempt: boolean;
  /** Processes are stopped at readings of their clocks, in the middle of whatever they do. */
  readonly stops: StopPlan | null;
  /** How long a leader has work for. */
  readonly workMs: readonly [number, number];
  /** How long, at most, each process is left in peace. */
  readonly peaceMs: number;
  readonly chaosMs: number;
  readonly quietMs: number;
}

const usual: Profile = {
  groups: 1,
  busyAdmin: false,
  wallJumps: false,
  preempt: false,
  stops: null,
  workMs: [100, 4000],
  peaceMs: 4000,
  chaosMs: 12_000,
  quietMs: 9_000,
};

export const PROFILES: Readonly<Record<string, Profile>> = {
  usual,
  "busy-admin": { ...usual, busyAdmin: true },
  "wall-jumps": { ...usual, wallJumps: true },
  groups: { ...usual, groups: 3 },
  preempt: { ...usual, preempt: true },
  /** Leaders come and go, servers crash often. */
  churn: { ...usual, workMs: [20, 300], peaceMs: 1500 },
  stops: { ...usual, stops: { rate: 0.01, stopMs: [1, 400] } },
};

export function profileNamed(name: string): Profile {
  const profile = PROFILES[name];
  if (profile === undefined)
    throw new Error(`no profile ${name}; there are ${Object.keys(PROFILES).join(", ")}`);
  return profile;
}
