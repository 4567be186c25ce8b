import type { StopPlan } from "@tenure/core/testing";

/** What kind of world a schedule runs in. Everything else is drawn from the seed. */
export interface Profile {
  readonly groups: number;
  /** From and to. */
  readonly servers: readonly [number, number];
  /** An operator that changes the policy this often, also after the faults have ended. */
  readonly busyMs: number | null;
  /** One elector's wall clock jumps by up to an hour, again and again. */
  readonly wallJumps: boolean;
  /** Waiting candidates of higher priority ask the leader to hand over. */
  readonly preempt: boolean;
  /** Processes are stopped at readings of their clocks, in the middle of whatever they do. */
  readonly stops: StopPlan | null;
  /** The ttls that are asked for, per group; the last one goes for all further groups. */
  readonly ttlMs: readonly (readonly [number, number])[];
  /** A neighbour holds the last group with a lease of this length, too short for the store. */
  readonly neighbourTtlMs: number | null;
  /** How long a call to the store takes there, and as long back, once there are no faults. */
  readonly storeMs: readonly [number, number];
  /** The share of campaigns that wait, and how long. */
  readonly waitRate: number;
  readonly waitMs: readonly [number, number];
  /** The share of campaigns from a candidate that still prepares; 0: campaigns do not mention readiness. */
  readonly coldRate: number;
  /** The share of the waiting campaigns that are given up early. */
  readonly cancelRate: number;
  /** Servers keep account of members. */
  readonly keepsMembers: boolean;
  /** An inquirer reads everything that can be read. */
  readonly inquires: boolean;
  /** Groups must be created, and say which nodes they allow. */
  readonly explicitGroups: boolean;
  /** How often the operations of one batch have different outcomes. */
  readonly mixedRate: number;
  /** Servers are closed, as for an upgrade, and not only crash. */
  readonly closes: boolean;
  /** Feeds go silent for good, and do not end. */
  readonly silentFeeds: boolean;
  /** Another version writes entries that this one cannot read, and restores them after a while. */
  readonly otherVersion: boolean;
  /** Processes take part by a real `Election`, and some that lead stop or crash also after the faults have ended. */
  readonly elections: boolean;
  /**
   * These are over HTTP, by the real machinery of the client; the ttls that they ask for. `null`: over the network as it
   * is.
   */
  readonly httpTtlMs: readonly [number, number] | null;
  /**
   * Also after the faults have ended, one of the servers freezes, is cut off from all clients, or crashes, again and again.
   */
  readonly frozenServers: boolean;
  /** How long a leader is left in peace once the faults have ended, where leaders go then. */
  readonly leaderPeaceMs: readonly [number, number];
  /** How many processes take part. */
  readonly clients: readonly [number, number];
  /** How long one that is gone stays away, once the faults have ended. */
  readonly awayMs: number;
  /** How many watch all groups at once. */
  readonly allWatchers: number;
  /** How long a leader has work for. */
  readonly workMs: readonly [number, number];
  /** The operator acts often, and mostly transfers. */
  readonly transfers: boolean;
  /** How long, at most, each process is left in peace. */
  readonly peaceMs: number;
  /** How long the operator continues to act after the faults have ended. */
  readonly actsInPeaceMs: number;
  /** How long after the faults a server may be behind the store without knowing. */
  readonly behindMs: number;
  readonly chaosMs: number;
  readonly quietMs: number;
}

const usual: Profile = {
  groups: 1,
  servers: [2, 4],
  busyMs: null,
  wallJumps: false,
  preempt: false,
  stops: null,
  ttlMs: [[300, 1200]],
  neighbourTtlMs: null,
  storeMs: [0.2, 2],
  waitRate: 0.6,
  waitMs: [200, 3000],
  coldRate: 0,
  cancelRate: 0.25,
  keepsMembers: false,
  inquires: false,
  explicitGroups: false,
  mixedRate: 0,
  closes: false,
  silentFeeds: false,
  otherVersion: false,
  elections: false,
  httpTtlMs: null,
  frozenServers: false,
  leaderPeaceMs: [1500, 3500],
  clients: [3, 6],
  awayMs: 0,
  allWatchers: 0,
  workMs: [100, 4000],
  transfers: false,
  peaceMs: 4000,
  actsInPeaceMs: 0,
  behindMs: 0,
  chaosMs: 12_000,
  quietMs: 9_000,
};

export const PROFILES: Readonly<Record<string, Profile>> = {
  usual,
  "busy-admin": { ...usual, busyMs: 120 },
  "wall-jumps": { ...usual, wallJumps: true },
  groups: { ...usual, groups: 3 },
  preempt: { ...usual, preempt: true },
  /** Candidates of which half are cold, also when an operator transfers the leadership. */
  standby: {
    ...usual,
    preempt: true,
    coldRate: 0.5,
    waitRate: 0.9,
    keepsMembers: true,
    actsInPeaceMs: 6000,
    chaosMs: 6000,
    quietMs: 13_000,
  },
  /** Leaders come and go, servers crash often. */
  churn: { ...usual, workMs: [20, 300], peaceMs: 1500 },
  /** Leaders hand over and are gone again at once. */
  handovers: { ...usual, workMs: [5, 80], peaceMs: 1500, waitRate: 0.9, transfers: true },
  "watch-all": { ...usual, groups: 3, allWatchers: 3 },
  /** Batches that come to a mixed end, servers that are closed and started again. */
  upgrades: { ...usual, groups: 3, mixedRate: 0.2, closes: true },
  /** Besides, entries of another version. */
  versions: {
    ...usual,
    groups: 2,
    keepsMembers: true,
    closes: true,
    otherVersion: true,
    waitRate: 0.95,
    waitMs: [2000, 9000],
    chaosMs: 20_000,
  },
  members: { ...usual, groups: 3, keepsMembers: true, inquires: true, explicitGroups: true },
  /** A server notices a silent feed after five seconds. */
  silence: { ...usual, silentFeeds: true, behindMs: 6000, quietMs: 15_000 },
  elections: { ...usual, elections: true, groups: 2, quietMs: 12_000 },
  "election-stops": { ...usual, elections: true, stops: { rate: 0.01, stopMs: [1, 400] }, quietMs: 12_000 },
  /** Elections over HTTP; a server that answers nothing, and a leader that is gone. */
  "frozen-servers": {
    ...usual,
    elections: true,
    httpTtlMs: [1000, 5000],
    frozenServers: true,
    // So few that no other client takes over where one does not.
    clients: [2, 3],
    awayMs: 9000,
    leaderPeaceMs: [2000, 9000],
    servers: [2, 3],
    workMs: [8000, 60_000],
    chaosMs: 2000,
    quietMs: 34_000,
  },
  /** One server, asked all the time for writes that carry over what is left of leases. */
  patches: { ...usual, servers: [1, 1], busyMs: 4, workMs: [50, 600], chaosMs: 0, quietMs: 8000 },
  operator: { ...usual, actsInPeaceMs: 8000, chaosMs: 4000, quietMs: 14_000 },
  /** A store that is well and slow, with long leases, and a neighbour whose leases are too short for it. */
  slow: {
    ...usual,
    groups: 2,
    ttlMs: [
      [6000, 8000],
      [500, 500],
    ],
    neighbourTtlMs: 500,
    storeMs: [70, 80],
    cancelRate: 0.6,
    workMs: [300, 9000],
    chaosMs: 0,
    quietMs: 30_000,
  },
  stops: { ...usual, stops: { rate: 0.03, stopMs: [1, 400] } },
};

/** The ttls that are asked for in the group of this number. */
export function ttlsOf({ ttlMs }: Profile, group: number): readonly [number, number] {
  return ttlMs[Math.min(group, ttlMs.length - 1)] ?? [300, 1200];
}

export function profileNamed(name: string): Profile {
  const profile = PROFILES[name];
  if (profile === undefined)
    throw new Error(`no profile ${name}; there are ${Object.keys(PROFILES).join(", ")}`);
  return profile;
}
