/** One node: its disk, and the processes that run over it one after the other. */
import type { Random, VirtualClock } from "@tenure/core/testing";
import type { ActiveMember, Peer } from "@tenure/peers/protocol";
import type { Trace } from "../trace.js";
import type { PeerChecks } from "./peer-checks.js";
import type { PeerModule } from "./peer-module.js";
import type { PeerNetwork, Station } from "./peer-network.js";
import { SimDisk } from "./sim-disk.js";
import { SimMembership } from "./sim-membership.js";

export const TTL_MS = 1000;
export const DRIFT_RATIO: number = 0.01;
const MEMBERSHIP_TTL_MS = 3 * TTL_MS;
const ANNOUNCE_MS = TTL_MS;
const SLOW_WRITES = 0.15;

/** What every node of a world shares. */
export interface PeerEnvironment {
  readonly modules: PeerModule;
  readonly time: VirtualClock;
  readonly network: PeerNetwork;
  readonly checks: PeerChecks;
  readonly trace: Trace | null;
  /** Where to announce: everybody knows every address. */
  readonly endpoints: () => readonly string[];
}

/** One process. */
export interface PeerLife extends Station {
  readonly peer: Peer;
  readonly membership: SimMembership;
  readonly number: number;
}

export class SimPeer {
  readonly name: string;
  readonly #environment: PeerEnvironment;
  readonly #random: Random;
  readonly #rate: number;
  readonly #stands: "always" | "asked";
  endpoint: string;
  join: readonly string[];
  disk: SimDisk;
  life: PeerLife | null = null;
  #lives = 0;
  #disks = 0;
  #moves = 0;

  constructor(options: {
    readonly name: string;
    readonly environment: PeerEnvironment;
    readonly random: Random;
    readonly rate: number;
    readonly join: readonly string[];
    /** `asked`: it is a puppet, and does nothing by itself but vote. */
    readonly stands?: "always" | "asked";
  }) {
    this.name = options.name;
    this.#environment = options.environment;
    this.#random = options.random;
    this.#rate = options.rate;
    this.#stands = options.stands ?? "always";
    this.endpoint = `${options.name}0`;
    this.join = options.join;
    this.disk = this.#newDisk();
  }

  /** It has left, and has not come back. */
  isGone = false;

  start(): void {
    if (this.life !== null) return;
    this.isGone = false;
    const { modules, time, network, checks, trace } = this.#environment;
    const random = this.#random.fork();
    const originMs = random.between(0, 1e6);
    const clock = time.process({ rate: this.#rate, originMs, bootTickMs: random.chance(0.5) ? 10 : 0 });
    const membership = new SimMembership(clock, MEMBERSHIP_TTL_MS);
    const peer = modules.Peer.start({
      identity: this.name,
      endpoint: this.endpoint,
      join: this.join,
      ttlMs: TTL_MS,
      driftRatio: DRIFT_RATIO,
      stands: this.#stands,
      clock,
      random: () => random.next(),
      disk: this.disk.mount(clock),
      transport: network.transport({ name: this.name, clock }),
      membership,
    });
    const life = { name: this.name, clock, answers: peer.answers, peer, membership, number: ++this.#lives };
    this.life = life;
    trace?.note(this.name, `starts over ${this.disk.id} at ${this.endpoint}`);
    peer.on((event) => {
      trace?.note(this.name, describe(event));
      if (event.kind === "elected") checks.elected(this, life, event.term);
    });
    if (this.#stands === "always") this.#announce(life);
  }

  crash(): void {
    if (this.life === null) return;
    this.#environment.trace?.note(this.name, "crashes");
    this.life.clock.kill();
    this.life = null;
  }

  /** The disk is gone; so it is another voter, and asks the others. */
  wipe(others: readonly string[]): void {
    this.crash();
    this.disk = this.#newDisk();
    this.join = others;
  }

  /** Comes back at another address. */
  move(): void {
    this.crash();
    this.endpoint = `${this.name}${++this.#moves}`;
  }

  /** Tells everybody, waits until it may, and is gone. */
  async leave(): Promise<void> {
    const { life } = this;
    if (life === null || life.membership.leaving) return;
    this.#environment.trace?.note(this.name, "is leaving");
    life.membership.leaving = true;
    await life.peer.leave();
    if (this.life !== life) return;
    this.#environment.trace?.note(this.name, "has left");
    this.crash();
    this.isGone = true;
  }

  member(): ActiveMember {
    return { identity: this.name, endpoint: this.endpoint, disk: this.disk.id };
  }

  #announce(life: PeerLife): void {
    if (this.life !== life) return;
    const { network, endpoints } = this.#environment;
    const isLeaving = life.membership.leaving;
    const member = this.member();
    const tell = (membership: SimMembership): void =>
      isLeaving ? membership.hasLeft(member.identity) : membership.announced(member);
    tell(life.membership);
    for (const endpoint of endpoints()) {
      if (endpoint === this.endpoint) continue;
      network.post(this.name, endpoint, (station) => tell((station as PeerLife).membership));
    }
    life.clock.after(ANNOUNCE_MS, () => this.#announce(life));
  }

  #newDisk(): SimDisk {
    const { time, checks } = this.#environment;
    return new SimDisk({
      id: `${this.name}-disk${++this.#disks}`,
      time,
      random: this.#random.fork(),
      slowRate: this.#stands === "always" ? SLOW_WRITES : 0,
      onWrite: ({ config }) => {
        if (config !== undefined) checks.configured(config);
      },
    });
  }
}

function describe(event: object): string {
  return JSON.stringify(event, (key, value: unknown) => (key === "signal" ? undefined : value));
}
