/** What must hold at every moment of true time, whatever happens. */
import type { Configuration, PeerState } from "@tenure/peers/protocol";
import { ABSURD_TERM, STRANGER } from "./peer-lies.js";
import { type PeerLife, type SimPeer, TTL_MS } from "./sim-peer.js";
import { StepChecks } from "./step-checks.js";

export const PEER_CHECKS = {
  S1: "two leaders inside their deadlines",
  S2: "one term held by two",
  S3: "a term or an epoch that falls",
  S4: "one epoch that names two electorates",
  S5: "an elector removed for silence that announces itself or granted the leader's rounds",
  S6: "a server that took what no election can have led to, or what no member has sent",
  S7: "a transaction decided both ways",
  S8: "a decision forgotten that is not applied everywhere",
  S9: "a leave that was refused and has changed something",
  S10: "a leader observed that never renewed in that term",
  S11: "a step of the electorate that the rules do not allow",
  S12: "a server that went over to another cluster",
  S13: "a server that stopped as removed while it was an elector",
  L1: "no leader, or too late, after the faults have ended",
  L2: "a node that does not know the leader in the end",
  L3: "no leader though a majority of the electorate could exchange messages for six ttl",
  L4: "registries that differ in the end",
  L5: "an electorate that does not follow the membership in the end",
  L6: "a change that a scenario has led to and that did not come in time",
} as const;

export type PeerCheckCode = keyof typeof PEER_CHECKS;

export interface PeerViolation {
  readonly code: PeerCheckCode;
  readonly atMs: number;
  readonly what: string;
}

/** The first violation of each kind is kept. */
export class PeerChecks {
  readonly violations: Map<PeerCheckCode, PeerViolation> = new Map();
  readonly steps: StepChecks = new StepChecks(this);
  readonly #nowMs: () => number;
  readonly #nodes: () => readonly SimPeer[];
  readonly #onViolation: (violation: PeerViolation) => void;
  readonly #holders = new Map<number, string>();
  /** By disk: the highest term that was shown. */
  readonly #terms = new Map<string, number>();
  readonly #electorates = new Map<string, string>();
  readonly #renewed = new Set<string>();
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

  /** True time. */
  get nowMs(): number {
    return this.#nowMs();
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

  /**
   * A server stops because it believes that it was removed. The electorate that the leader has written counts. A step that
   * adds the server again and that the server has not stored does not count: the other electors can remove the server.
   */
  removed({ name, disk }: SimPeer): void {
    const leader = this.leader();
    const isElector = (config: Configuration | null | undefined): boolean =>
      config?.members[name]?.disk === disk.id;
    if (isElector(leader?.disk.contents.config) && isElector(disk.contents.config))
      this.fail("S13", `${name} stops, and ${leader?.name} has it in the electorate`);
  }

  /** A round was sent. */
  renewed(leader: string, term: number): void {
    this.#renewed.add(`${leader} ${term}`);
  }

  /** A leader that is the only elector sends no rounds. */
  observed(by: string, { leaderId, term }: { readonly leaderId: string; readonly term: number }): void {
    const leader = this.#nodes().find(({ name }) => name === leaderId);
    const isAlone = Object.keys(leader?.disk.contents.config?.members ?? {}).length <= 1;
    if (!isAlone && !this.#renewed.has(`${leaderId} ${term}`)) {
      this.fail("S10", `${by} takes ${leaderId} for the leader of term ${term}`);
    }
  }

  readonly answered = ({ disk, identity, term, lease, config }: PeerState): void => {
    if (
      term >= ABSURD_TERM ||
      (config?.epoch.term ?? 0) >= ABSURD_TERM ||
      lease?.leaderId === STRANGER ||
      (lease?.leftMs ?? 0) > 2 * TTL_MS
    ) {
      this.fail("S6", `${identity} shows term ${term}, lease ${JSON.stringify(lease)}`);
    }
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
