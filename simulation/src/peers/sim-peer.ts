/** One node: its disk, and the processes that run over it one after the other. */
import type { ProcessClock, Random, VirtualClock } from "@tenure/core/testing";
import type { ActiveMember, Peer, PeerDisk, PeerEvent } from "@tenure/peers/protocol";
import type { Trace } from "../trace.js";
import type { PeerChecks } from "./peer-checks.js";
import type { PeerModule } from "./peer-module.js";
import type { PeerNetwork, Station } from "./peer-network.js";
import { SimDisk } from "./sim-disk.js";
import { SimMembership } from "./sim-membership.js";
import { SimStore } from "./sim-store.js";
import { Services } from "./services.js";
import type { DecisionChecks } from "./decision-checks.js";

export const TTL_MS = 1000;
export const DRIFT_RATIO: number = 0.01;
/** In random schedules. */
export const SLOW_WRITE_RATE = 0.15;
/** As long as a node of the product waits to be removed before it stops. */
const LEAVE_MS = 4 * TTL_MS;

/** Hears of what nodes report and store. */
export interface PeerJournal {
  happened(name: string, event: PeerEvent): void;
  stored(name: string, change: Parameters<PeerDisk["write"]>[0]): void;
}

/** What every node of a world shares. */
export interface PeerEnvironment {
  readonly modules: PeerModule;
  readonly time: VirtualClock;
  readonly network: PeerNetwork;
  readonly checks: PeerChecks;
  readonly decisions: DecisionChecks;
  /** Whether nodes decide and keep a registry. */
  readonly decides: boolean;
  /** How fast the time passes by which decisions are kept. */
  readonly speed: number;
  readonly trace: Trace | null;
  readonly journal: PeerJournal | null;
  /** The share of the writes of a server that take some time. Those of a puppet take none. */
  readonly slowWriteRate: number;
  /** Where all nodes are now. */
  readonly endpoints: () => readonly string[];
}

type Records = Awaited<ReturnType<PeerModule["OwnRecords"]["open"]>>;

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
  /** What it keeps besides its votes; lost with its disk. */
  #store: SimStore;
  life: PeerLife | null = null;
  #isStarting = false;
  #lostByLeaving = 0;
  #leavingLife: PeerLife | null = null;
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
    this.#store = this.#newStore();
  }

  /** It has left, and has not come back. */
  isGone = false;

  /** A puppet is there at once, any other node after it has read its store. */
  start(): void {
    if (this.life !== null || this.#isStarting) return;
    this.isGone = false;
    const random = this.#random.fork();
    const originMs = random.between(0, 1e6);
    const clock = this.#environment.time.process({
      rate: this.#rate,
      originMs,
      bootTickMs: random.chance(0.5) ? 10 : 0,
    });
    if (this.#stands === "asked") return this.#live(clock, random, null);
    this.#isStarting = true;
    void this.#environment.modules.OwnRecords.open(this.#store.mount(clock)).then((records) => {
      this.#isStarting = false;
      this.#live(clock, random, records);
    });
  }

  #live(clock: ProcessClock, random: Random, records: Records | null): void {
    const { modules, network, checks, trace, journal } = this.#environment;
    const services = records === null ? null : this.#services(clock, records);
    const membership = new SimMembership(services?.membership ?? null);
    const transport = network.transport({ name: this.name, clock });
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
      transport: {
        ...transport,
        renew: async (to, request, options) => {
          checks.renewed(this.name, request.term);
          checks.steps.sends(this, request.config);
          const sentMs = checks.nowMs;
          const verdict = await transport.renew(to, request, options);
          if (verdict.granted) checks.steps.granted(this.name, verdict.state, sentMs);
          return verdict;
        },
      },
      membership,
      holdStep: (config) => services?.holdStep(config) ?? null,
    });
    const { name, disk } = this;
    const number = ++this.#lives;
    const life = { name, clock, answers: peer.answers, peer, membership, number, disk: disk.id, services };
    this.life = life;
    trace?.note(name, `starts over ${disk.id} at ${this.endpoint}`);
    peer.on((event) => {
      trace?.note(name, describe(event));
      journal?.happened(name, event);
      if (event.kind === "observed" && event.leader !== null && event.leader.leaderId !== name) {
        checks.observed(name, event.leader);
      }
      if (event.kind === "lost" && event.cause === "leaving") this.#lostByLeaving++;
      if (event.kind !== "elected") return;
      checks.elected(this, life, event.term);
      if (this.#environment.decides) services?.decider.lead(event.term, event.signal);
    });
    services?.start();
  }

  #services(clock: ProcessClock, records: Records): Services {
    const { modules, network, decides, speed, decisions } = this.#environment;
    const { name, endpoint, disk } = this;
    // Where the others have moved meanwhile, its operator says.
    const join = this.#lives === 0 ? this.join : [...this.join, ...this.#environment.endpoints()];
    return new Services({
      modules,
      name,
      endpoint,
      join,
      disk: disk.id,
      ttlMs: TTL_MS,
      clock,
      network,
      records,
      decides,
      speed,
      config: () => this.life?.answers.state().config ?? disk.contents.config,
      vote: () => disk.contents.vote,
      leader: () => this.life?.peer.observedLeader() ?? null,
      onApplied: (txnId, decision) => decisions.applied(disk.id, txnId, decision),
      onForgotten: (txnId) => decisions.forgets(this, txnId),
    });
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
    this.#store = this.#newStore();
    this.join = others;
  }

  /** Comes back at another address. */
  move(): void {
    this.crash();
    this.endpoint = `${this.name}${++this.#moves}`;
  }

  /** Sends a goodbye, waits until it may stop, and ends; like a crash if that takes too long. */
  async leave(): Promise<void> {
    const { life } = this;
    if (life === null || life.services === null || this.#isBusy(life)) return;
    const { trace } = this.#environment;
    trace?.note(this.name, "is leaving");
    await life.services.announcer.leave({ anyway: true }).catch(() => {});
    await this.#removed(life);
  }

  /** One leave at a time in each life. */
  #isBusy(life: PeerLife): boolean {
    if (life.membership.leaving || this.#leavingLife === life) return true;
    this.#leavingLife = life;
    return false;
  }

  /** Stops once it was removed from the electorate, or after a while in any case. */
  async #removed(life: PeerLife): Promise<void> {
    const { trace } = this.#environment;
    const limit = new AbortController();
    life.clock.after(LEAVE_MS, () => limit.abort(new Error("time is up")));
    const isRemoved = await life.peer.leave({ signal: limit.signal }).then(
      ({ kind }) => kind === "removed",
      () => false,
    );
    if (this.life !== life) return;
    trace?.note(this.name, isRemoved ? "has left" : "gives up leaving");
    if (isRemoved) this.#environment.checks.removed(this);
    this.crash();
    this.isGone = isRemoved;
  }

  /** Leaves if all members confirm, at an operator's request; otherwise it stays, and nothing has changed. */
  async tryToLeave(): Promise<void> {
    const { life } = this;
    if (life === null || life.services === null || this.#isBusy(life)) return;
    const before = this.#lostByLeaving;
    const { failed } = await life.services.announcer.leave({ anyway: false }).catch(() => ({ failed: [] }));
    if (this.life !== life) return;
    if (failed.length === 0) return this.#removed(life);
    this.#leavingLife = null;
    if (life.membership.leaving || this.#lostByLeaving !== before) {
      this.#environment.checks.fail("S9", `${this.name} was refused to leave and has lost its term`);
    }
  }

  member(): ActiveMember {
    return { identity: this.name, endpoint: this.endpoint, disk: this.disk.id };
  }

  #newStore(): SimStore {
    const { time, slowWriteRate } = this.#environment;
    return new SimStore(time, this.#random.fork(), slowWriteRate);
  }

  #newDisk(): SimDisk {
    const { time, checks, journal, slowWriteRate } = this.#environment;
    return new SimDisk({
      id: `${this.name}-disk${++this.#disks}`,
      time,
      random: this.#random.fork(),
      slowRate: this.#stands === "always" ? slowWriteRate : 0,
      onWrite: (change) => {
        journal?.stored(this.name, change);
        const { config } = change;
        if (config === undefined) return;
        checks.configured(config);
        checks.steps.writes(this, config);
      },
    });
  }
}

function describe(event: object): string {
  return JSON.stringify(event, (key, value: unknown) => (key === "signal" ? undefined : value));
}
