/** What must hold at every moment of true time, whatever happens. */
import type { Configuration, PeerState } from "@tenure/peers/protocol";
import type { PeerLife, SimPeer } from "./sim-peer.js";

export const PEER_CHECKS = {
  S1: "two leaders inside their deadlines",
  S2: "one term held by two",
  S3: "a term that falls",
  S4: "one epoch that names two electorates",
  L1: "no leader, or too late, after the faults have ended",
  L2: "a node that does not know the leader in the end",
} as const;

export type PeerCheckCode = keyof typeof PEER_CHECKS;

export interface PeerViolation {
  readonly code: PeerCheckCode;
  readonly atMs: number;
  readonly what: string;
}

/** Of each kind of violation the first is kept. */
export class PeerChecks {
  readonly violations: Map<PeerCheckCode, PeerViolation> = new Map();
  readonly #nowMs: () => number;
  readonly #nodes: () => readonly SimPeer[];
  readonly #onViolation: (violation: PeerViolation) => void;
  readonly #holders = new Map<number, string>();
  /** By disk: the highest term that was shown. */
  readonly #terms = new Map<string, number>();
  readonly #electorates = new Map<string, string>();
  elections = 0;
  /** True time of the last election. */
  electedAtMs = 0;

  constructor(
    nowMs: () => number,
    nodes: () => readonly SimPeer[],
    onViolation: (violation: PeerViolation) => void,
  ) {
    this.#nowMs = nowMs;
    this.#nodes = nodes;
    this.#onViolation = onViolation;
  }

  fail(code: PeerCheckCode, what: string): void {
    if (this.violations.has(code)) return;
    const violation = { code, what, atMs: this.#nowMs() };
    this.violations.set(code, violation);
    this.#onViolation(violation);
  }

  elected({ name }: SimPeer, { number }: PeerLife, term: number): void {
    this.elections++;
    this.electedAtMs = this.#nowMs();
    const who = `${name}.${number}`;
    const holder = this.#holders.get(term);
    if (holder !== undefined) this.fail("S2", `term ${term} is held by ${holder} and by ${who}`);
    this.#holders.set(term, who);
    this.look();
  }

  /** A deadline only begins or moves with a message or an election: it is enough to look then. */
  readonly look = (): void => {
    let leader: SimPeer | null = null;
    for (const node of this.#nodes()) {
      const leftMs = node.life?.peer.leftMs() ?? 0;
      if (leftMs <= 0) continue;
      if (leader !== null) {
        const otherMs = leader.life?.peer.leftMs() ?? 0;
        this.fail(
          "S1",
          `${leader.name} leads for ${otherMs.toFixed(1)} ms, ${node.name} for ${leftMs.toFixed(1)} ms`,
        );
      }
      leader = node;
    }
  };

  readonly answered = ({ disk, identity, term }: PeerState): void => {
    const highest = this.#terms.get(disk) ?? 0;
    if (term < highest) this.fail("S3", `${identity} shows term ${term} after ${highest}`);
    else this.#terms.set(disk, term);
  };

  /** For the trace: who asked what, and what it showed. */
  static describe(call: string, answer: object): string {
    const { state, ...rest } = answer as { state: PeerState };
    const { term, lease, config } = state;
    const electorate = Object.keys(config?.members ?? {})
      .toSorted()
      .join("");
    const epoch = config === null ? "-" : `${config.epoch.term}.${config.epoch.n}`;
    const held = lease === null ? "free" : `${lease.leaderId}/${lease.term} ${lease.leftMs.toFixed(0)} ms`;
    return `${call} ${JSON.stringify(rest)} term ${term}, ${held}, ${epoch} {${electorate}}`;
  }

  configured({ cluster, epoch, members }: Configuration): void {
    const key = `${cluster} [${epoch.term}, ${epoch.n}]`;
    const electorate = Object.entries(members)
      .map(([identity, { disk }]) => `${identity}/${disk}`)
      .toSorted()
      .join(" ");
    const known = this.#electorates.get(key);
    if (known !== undefined && known !== electorate)
      this.fail("S4", `${key} is {${known}} and {${electorate}}`);
    this.#electorates.set(key, electorate);
  }

  leader(): SimPeer | null {
    return this.#nodes().find((node) => (node.life?.peer.leftMs() ?? 0) > 0) ?? null;
  }
}
