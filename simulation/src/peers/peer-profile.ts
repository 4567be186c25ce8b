import { type NetworkFaults, noNetworkFaults } from "./peer-network.js";

/** What kind of world a schedule runs in. Everything else is drawn from the seed. */
export interface PeerProfile {
  readonly nodes: readonly [min: number, max: number];
  /** How many of them are in each other's join list from the start; the rest come later. */
  readonly founders: readonly [min: number, max: number];
  /** Join lists differ; only the first node is in all of them. */
  readonly listsDiffer: boolean;
  readonly faults: NetworkFaults;
  /** The average interval between two of each of these, in milliseconds; 0 is never. */
  readonly everyMs: {
    readonly crash: number;
    readonly wipe: number;
    /** One node is cut off, and all the others lose their power for a moment. */
    readonly blackout: number;
    readonly cut: number;
    readonly pause: number;
    readonly leave: number;
    readonly move: number;
    /** A node believes in some other membership. */
    readonly dream: number;
    /** Connections can be opened in one direction only. */
    readonly oneWay?: number;
    /** Certificates of some servers expire for a while. */
    readonly certificate?: number;
    /** A member, or a stranger with a certificate, sends what no honest server sends. */
    readonly absurd?: number;
    /** A client asks for a decision. */
    readonly decide?: number;
  };
  /** Whether nodes decide and keep a registry. */
  readonly decides?: boolean;
  readonly chaosMs: number;
  readonly quietMs: number;
}

const faulty: NetworkFaults = {
  ...noNetworkFaults(),
  lossRate: 0.03,
  slowRate: 0.1,
  lateRate: 0.02,
  duplicateRate: 0.03,
};

const quiet = { crash: 0, wipe: 0, blackout: 0, cut: 0, pause: 0, leave: 0, move: 0, dream: 0 };

const usual: PeerProfile = {
  nodes: [3, 6],
  founders: [1, 5],
  listsDiffer: false,
  faults: faulty,
  everyMs: { crash: 1500, wipe: 0, blackout: 4000, cut: 1500, pause: 2500, leave: 0, move: 0, dream: 0 },
  chaosMs: 12_000,
  quietMs: 8_000,
};

export const PEER_PROFILES: Readonly<Record<string, PeerProfile>> = {
  usual,
  /** Joins, leaves, moves and expiry. */
  churn: {
    ...usual,
    nodes: [4, 6],
    founders: [1, 4],
    everyMs: { crash: 2500, wipe: 0, blackout: 0, cut: 2500, pause: 4000, leave: 2500, move: 4000, dream: 0 },
  },
  /** Each node has its own view of the membership, and changes it often. */
  views: {
    ...usual,
    nodes: [5, 6],
    founders: [3, 3],
    everyMs: { crash: 2500, wipe: 0, blackout: 0, cut: 700, pause: 2500, leave: 0, move: 0, dream: 250 },
  },
  /** Everything is slow, and candidates meet. */
  duels: {
    ...usual,
    nodes: [3, 5],
    founders: [3, 5],
    faults: { ...faulty, lossRate: 0.1, slowRate: 0.8, slowMs: 300 },
    everyMs: { crash: 1500, wipe: 0, blackout: 0, cut: 1200, pause: 2500, leave: 0, move: 0, dream: 0 },
  },
  /** A third of all messages arrives after the caller has given up. */
  late: {
    ...usual,
    nodes: [3, 5],
    founders: [3, 5],
    faults: { ...faulty, lateRate: 0.33, duplicateRate: 0.1 },
    everyMs: { crash: 1500, wipe: 0, blackout: 0, cut: 2500, pause: 1000, leave: 0, move: 0, dream: 0 },
  },
  /** Disks are lost, under the same identity. */
  wipes: {
    ...usual,
    nodes: [3, 5],
    founders: [3, 5],
    everyMs: { crash: 2000, wipe: 2500, blackout: 0, cut: 1500, pause: 4000, leave: 0, move: 0, dream: 0 },
  },
  /** Connections work one way only, for long, and certificates expire. */
  oneway: {
    ...usual,
    nodes: [3, 5],
    founders: [3, 5],
    everyMs: { ...quiet, crash: 4000, cut: 5000, leave: 5000, oneWay: 2500, certificate: 5000 },
  },
  /** Members send what is well-formed and absurd. */
  absurd: {
    ...usual,
    nodes: [3, 5],
    founders: [3, 5],
    everyMs: { ...quiet, crash: 1500, cut: 2500, absurd: 100 },
  },
  /** Transactions are decided, applied and forgotten while servers crash, come and go. */
  decisions: {
    ...usual,
    nodes: [3, 5],
    founders: [3, 4],
    decides: true,
    everyMs: { ...quiet, crash: 1200, cut: 3000, leave: 5000, oneWay: 5000, absurd: 1000, decide: 120 },
    quietMs: 16_000,
  },
  /** First starts by join lists that are not the same. */
  lists: {
    ...usual,
    nodes: [5, 6],
    founders: [5, 5],
    listsDiffer: true,
    everyMs: { crash: 1500, wipe: 0, blackout: 0, cut: 1500, pause: 2500, leave: 0, move: 0, dream: 0 },
    chaosMs: 6_000,
  },
};

export function peerProfileNamed(name: string): PeerProfile {
  const profile = PEER_PROFILES[name];
  if (profile === undefined)
    throw new Error(`no profile ${name}; there are ${Object.keys(PEER_PROFILES).join(", ")}`);
  return profile;
}
