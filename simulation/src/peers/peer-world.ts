/**
 * One schedule: some peers and their networks, for some seconds of virtual time with faults and some without. All of it
 * follows from the seed.
 */
import { Random, VirtualClock } from "@tenure/core/testing";
import { Trace } from "../trace.js";
import { DecisionChecks } from "./decision-checks.js";
import { PeerChaos } from "./peer-chaos.js";
import { PeerChecks, type PeerViolation } from "./peer-checks.js";
import { Liveness } from "./peer-liveness.js";
import type { PeerModule } from "./peer-module.js";
import { PeerNetwork } from "./peer-network.js";
import type { PeerProfile } from "./peer-profile.js";
import { hasMajority } from "./electorates.js";
import { DRIFT_RATIO, type PeerEnvironment, SimPeer, SLOW_WRITE_RATE, TTL_MS } from "./sim-peer.js";

export interface PeerWorldOptions {
  readonly seed: number;
  readonly profile: PeerProfile;
  readonly modules: PeerModule;
  readonly traced?: boolean;
  readonly print?: (line: string) => void;
}

export interface PeerWorldReport {
  readonly seed: number;
  readonly violations: readonly PeerViolation[];
  readonly elections: number;
  readonly decided: number;
  readonly forgotten: number;
  /** From the end of the faults to the last election, in ttl; `null` where a majority of the electorate was lost. */
  readonly healedTtl: number | null;
  readonly digest: string | null;
}

const SETTLED_MS = 2 * TTL_MS;
/** A day of retention within some seconds; or a crash that sets the running time back by all that was not saved. */
const SPEEDS: readonly number[] = [20_000, 300];
/** The largest number of ttls after the faults within which there must be a leader. */
const LATEST_TTL = 6;

export class PeerWorld {
  readonly #options: PeerWorldOptions;
  readonly #time = new VirtualClock();
  readonly #random: Random;
  readonly #trace: Trace | null;
  readonly #nodes: readonly SimPeer[];
  readonly #checks: PeerChecks;
  readonly #decisions: DecisionChecks;
  readonly #network: PeerNetwork;

  constructor(options: PeerWorldOptions) {
    this.#options = options;
    this.#random = new Random(options.seed);
    this.#trace =
      options.traced === true || options.print !== undefined ? new Trace(this.#time, options.print) : null;
    this.#checks = new PeerChecks(
      () => this.#time.monotonicMs(),
      () => this.#nodes,
      ({ code, what }) => this.#trace?.note("CHECK", `${code}: ${what}`),
    );
    this.#decisions = new DecisionChecks(this.#checks, () => this.#nodes);
    this.#network = new PeerNetwork({
      time: this.#time,
      random: this.#random.fork(),
      find: (endpoint) => this.#nodes.find((node) => node.endpoint === endpoint)?.life ?? null,
      onAnswer: (state, call, answer) => {
        this.#trace?.note("NET", PeerChecks.describe(call, answer));
        this.#checks.answered(state);
      },
      afterDelivery: this.#checks.look,
    });
    this.#nodes = this.#drawNodes();
  }

  async run(): Promise<PeerWorldReport> {
    const { profile, seed } = this.#options;
    const chaos = new PeerChaos({
      modules: this.#options.modules,
      profile,
      time: this.#time,
      random: this.#random.fork(),
      network: this.#network,
      nodes: this.#nodes,
      checks: this.#checks,
      decisions: this.#decisions,
      trace: this.#trace,
    });
    const liveness = new Liveness({
      modules: this.#options.modules,
      time: this.#time,
      network: this.#network,
      nodes: this.#nodes,
      checks: this.#checks,
      liars: chaos.liars,
    });
    this.#startNodes();
    chaos.start();
    liveness.start();
    this.#time.at(profile.chaosMs, () => {
      this.#trace?.note("HEAL", "");
      chaos.heal();
    });
    let endMs = profile.chaosMs + SETTLED_MS;
    await this.#time.run({ untilMs: endMs });
    while (endMs < profile.chaosMs + profile.quietMs && !this.#isSettled()) {
      endMs += TTL_MS;
      await this.#time.run({ untilMs: endMs });
    }
    liveness.stop();
    const healedTtl = this.#judgeEnd();
    this.#time.stop();
    return {
      seed,
      violations: [...this.#checks.violations.values()],
      elections: this.#checks.elections,
      decided: this.#decisions.decided,
      forgotten: this.#decisions.forgotten,
      healedTtl,
      digest: this.#trace?.digest ?? null,
    };
  }

  #drawNodes(): readonly SimPeer[] {
    const { modules, profile } = this.#options;
    const random = this.#random;
    const count = random.int(...profile.nodes);
    const founders = Math.min(count, random.int(...profile.founders));
    const names = Array.from({ length: count }, (_, i) => String.fromCharCode(97 + i));
    const list = names.slice(0, founders).map((name) => `${name}0`);
    const environment: PeerEnvironment = {
      modules,
      time: this.#time,
      network: this.#network,
      checks: this.#checks,
      trace: this.#trace,
      journal: null,
      slowWriteRate: SLOW_WRITE_RATE,
      decisions: this.#decisions,
      decides: profile.decides === true,
      speed: random.pick(SPEEDS),
      endpoints: () => this.#nodes.map((node) => node.endpoint),
    };
    return names.map(
      (name) =>
        new SimPeer({
          name,
          environment,
          random: random.fork(),
          rate: drawRate(random),
          join: profile.listsDiffer ? list.filter((each) => each === "a0" || random.chance(0.65)) : list,
        }),
    );
  }

  /** The first ones together, the others whenever they come. */
  #startNodes(): void {
    const random = this.#random;
    for (const node of this.#nodes) {
      const isFounder = node.join.includes(node.endpoint);
      this.#time.after(random.between(0, isFounder ? 300 : 5 * TTL_MS), () => node.start());
    }
  }

  /** Nothing more will happen: there has been a leader for a while, and all servers know it. */
  #isSettled(): boolean {
    const leader = this.#checks.leader();
    if (leader === null || this.#time.monotonicMs() - this.#checks.electedAtMs < SETTLED_MS) return false;
    return (
      this.#nodes.every(
        ({ life }) => life === null || life.peer.observedLeader()?.leaderId === leader.name,
      ) &&
      this.#follows(leader) &&
      this.#decisions.isConverged()
    );
  }

  /**
   * L5: whether every server that runs is an elector, over the disk that the server has now.
   *
   * Left out, besides servers that are apart: a server that is not an elector and whose vote is of a higher term than the
   * leader's. Such a server grants no round until the next election, so the leader cannot add it; and a higher term alone
   * is no reason for a leader to stop. It is left out only if the leader reports it, as announced and not reached.
   *
   * A server that has left is not judged. If one of its announcements arrives after its goodbye, or the next leader missed
   * the goodbye, that leader may add the server once more before it stops, and then removes it for silence only where an
   * odd number stays.
   */
  #follows({ life }: SimPeer): boolean {
    const { config } = life?.answers.state() ?? {};
    const term = life?.peer.leading()?.term ?? 0;
    const { heldBack } = life?.peer.status() ?? {};
    return this.#nodes.every((node) => {
      const isElector = config?.members[node.name]?.disk === node.disk.id;
      if (isElector || this.#isApart(node)) return true;
      const isReported = heldBack?.reason === "not-reached" && heldBack.detail.includes(node.endpoint);
      return (node.life?.peer.term ?? 0) > term && isReported;
    });
  }

  /**
   * L2 and L5 leave out a server that does not run, and one that no server knows: it has known no cluster since its first
   * start, its join targets have all moved, and it has announced itself to no server before. Nothing but its operator can
   * name another target to it. A later life of the server has been given the present endpoints, and is judged.
   */
  #isApart({ name, endpoint, life, join }: SimPeer): boolean {
    if (life === null) return true;
    if (life.number > 1 || life.answers.state().config !== null) return false;
    const others = this.#nodes.filter((each) => each.life !== null && each.life !== life);
    const isMember = ({ life: other }: SimPeer): boolean =>
      other?.membership.active().some((each) => each.identity === name && each.endpoint === endpoint) ===
      true;
    return !others.some((each) => join.includes(each.endpoint) || isMember(each));
  }

  #judgeEnd(): number | null {
    if (!hasMajority(this.#options.modules, this.#nodes)) return null;
    const leader = this.#checks.leader();
    const healedTtl = Math.max(0, this.#checks.electedAtMs - this.#options.profile.chaosMs) / TTL_MS;
    if (leader === null) {
      this.#checks.fail("L1", "there is no leader");
      return Number.POSITIVE_INFINITY;
    }
    if (healedTtl > LATEST_TTL)
      this.#checks.fail("L1", `elected ${healedTtl.toFixed(1)} ttl after the faults`);
    for (const node of this.#nodes) {
      const { name, life } = node;
      const seen = life?.peer.observedLeader()?.leaderId;
      if (!this.#isApart(node) && seen !== leader.name)
        this.#checks.fail("L2", `${name} takes ${seen ?? "nobody"} for the leader, it is ${leader.name}`);
    }
    if (!this.#follows(leader)) {
      const { heldBack, electorate } = leader.life?.peer.status() ?? {};
      const named = Object.keys(electorate?.members ?? {}).join("");
      this.#checks.fail("L5", `the electorate is ${named}, held back: ${JSON.stringify(heldBack)}`);
    }
    if (this.#options.profile.decides === true && !this.#decisions.isConverged()) {
      this.#checks.fail("L4", "the registries differ");
    }
    return healedTtl;
  }
}

/** Mostly at the edge of what is allowed. */
function drawRate(random: Random): number {
  const edge = random.pick([-1, 1, random.between(-1, 1)]);
  return 1 + DRIFT_RATIO * edge;
}
