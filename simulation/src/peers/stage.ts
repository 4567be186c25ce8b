/**
 * A schedule written by hand. Messages take some milliseconds, and the same checkers watch. Nodes are either puppets,
 * which campaign, announce or fail only if the script says so, or servers, which do everything that a server does.
 */
import { Random, VirtualClock } from "@tenure/core/testing";
import type { PeerState } from "@tenure/peers/protocol";
import { Trace } from "../trace.js";
import { DecisionChecks } from "./decision-checks.js";
import { PeerChecks, type PeerViolation } from "./peer-checks.js";
import type { PeerModule } from "./peer-module.js";
import { PeerNetwork } from "./peer-network.js";
import type { Services } from "./services.js";
import { type PeerEnvironment, type PeerLife, SimPeer } from "./sim-peer.js";

/** How finely a condition is looked at: between two messages of puppets, and between rounds of servers. */
const STEP_MS = { puppets: 0.5, servers: 5 };
/** How fast the time of servers passes by which decisions are kept: an hour in 36 seconds. */
const SPEED = 100;
/** A script whose condition is not met within this time is wrong. */
const MAX_MS = 20_000;

export interface StageOptions {
  readonly founders: string;
  readonly later?: string | undefined;
  /** Servers instead of puppets. */
  readonly servers?: boolean | undefined;
  readonly print?: ((line: string) => void) | undefined;
}

export class Stage {
  readonly time: VirtualClock = new VirtualClock();
  readonly network: PeerNetwork;
  readonly #checks: PeerChecks;
  readonly #nodes: readonly SimPeer[];
  readonly #founders: string;
  /** By node: how many renewals it has sent. */
  readonly #rounds = new Map<string, number>();
  readonly #slow = new Map<string, number>();
  readonly #arePuppets: boolean;

  /** All founded together, but for `later`, which are started by hand. */
  constructor(modules: PeerModule, { founders: names, later = "", servers = false, print }: StageOptions) {
    this.#founders = names;
    this.#arePuppets = !servers;
    const random = new Random(1);
    const trace = print === undefined ? null : new Trace(this.time, print);
    this.#checks = new PeerChecks(
      () => this.time.monotonicMs(),
      () => this.#nodes,
      ({ code, what }) => trace?.note("CHECK", `${code}: ${what}`),
    );
    this.network = new PeerNetwork({
      time: this.time,
      random: random.fork(),
      find: (endpoint) => this.#nodes.find((node) => node.endpoint === endpoint)?.life ?? null,
      onAnswer: (state, call, answer) => {
        trace?.note("NET", PeerChecks.describe(call, answer));
        this.#checks.answered(state);
      },
      afterDelivery: this.#checks.look,
    });
    const environment: PeerEnvironment = {
      modules,
      time: this.time,
      network: this.network,
      checks: this.#checks,
      trace,
      decisions: new DecisionChecks(this.#checks, () => this.#nodes),
      decides: servers,
      speed: SPEED,
      endpoints: () => [],
    };
    const join = Array.from(names).map((name) => `${name}0`);
    this.#nodes = Array.from(
      names + later,
      (name) =>
        new SimPeer({
          name,
          environment,
          random: random.fork(),
          rate: 1,
          join,
          stands: servers ? "always" : "asked",
        }),
    );
    this.network.cutsRefuse = true;
    this.network.travelMs = (from, to, verb) => {
      if (verb === "renew") this.#rounds.set(from, (this.#rounds.get(from) ?? 0) + 1);
      return this.#slow.get(`${from} ${verb}`) ?? this.#slow.get(`>${to} ${verb}`);
    };
  }

  get violations(): readonly PeerViolation[] {
    return [...this.#checks.violations.values()];
  }

  node(name: string): SimPeer {
    const node = this.#nodes.find((each) => each.name === name);
    if (node === undefined) throw new Error(`no node ${name}`);
    return node;
  }

  life(name: string): PeerLife {
    const { life } = this.node(name);
    if (life === null) throw new Error(`${name} does not run`);
    return life;
  }

  state(name: string): PeerState {
    return this.life(name).peer.answers.state();
  }

  /** Whom a node takes for the electorate, in short. */
  electorate(name: string): string {
    return Object.keys(this.state(name).config?.members ?? {})
      .toSorted()
      .join("");
  }

  /** Puppets take those who found the cluster for active, until they are made to believe otherwise. */
  start(names: string): void {
    for (const name of names) {
      this.node(name).start();
      if (this.#arePuppets) this.believe(name, this.#founders);
    }
  }

  /** Of a server. */
  services(name: string): Services {
    const { services } = this.life(name);
    if (services === null) throw new Error(`${name} is a puppet`);
    return services;
  }

  /** `active` announce, `left` left, as this node knows it; if it is among those, it is leaving itself. */
  believe(name: string, active: string, left = ""): void {
    this.life(name).membership.dream = {
      active: Array.from(active).map((each) => this.node(each).member()),
      left: Array.from(left),
      leaving: left.includes(name),
    };
  }

  /** Nothing passes between `a` and any of `others`, either way. */
  cut(a: string, others: string): void {
    for (const b of others) this.network.cuts.add(`${a}>${b}`).add(`${b}>${a}`);
  }

  cutOneWay(from: string, to: string): void {
    for (const each of to) this.network.cuts.add(`${from}>${each}`);
  }

  join(a: string, others: string): void {
    for (const b of others) {
      this.network.cuts.delete(`${a}>${b}`);
      this.network.cuts.delete(`${b}>${a}`);
    }
  }

  /** From now on requests of this kind from this node take `ms`. */
  slowDown(name: string, verb: string, ms: number): void {
    this.#slow.set(`${name} ${verb}`, ms);
  }

  /** From now on requests of this kind to this node take `ms`. */
  slowDownTo(name: string, verb: string, ms: number): void {
    this.#slow.set(`>${this.node(name).endpoint} ${verb}`, ms);
  }

  async run(ms: number): Promise<void> {
    await this.time.advance(ms);
    this.#checks.look();
  }

  async until(what: string, condition: () => boolean): Promise<void> {
    if (!(await this.comesTrue(MAX_MS, condition))) throw new Error(`the script waits in vain: ${what}`);
  }

  /** Runs until it is so; false if it is not so within that time. */
  async comesTrue(withinMs: number, condition: () => boolean): Promise<boolean> {
    const endMs = this.time.monotonicMs() + withinMs;
    while (!condition()) {
      if (this.time.monotonicMs() > endMs) return false;
      await this.run(this.#arePuppets ? STEP_MS.puppets : STEP_MS.servers);
    }
    return true;
  }

  /** What the script has led to must come within that time. */
  async expect(what: string, withinMs: number, condition: () => boolean): Promise<void> {
    if (!(await this.comesTrue(withinMs, condition)))
      this.#checks.fail("L6", `not within ${withinMs} ms: ${what}`);
  }

  /** All of them know the electorate. */
  async found(names: string): Promise<void> {
    this.start(names);
    const isKnownTo = (name: string): boolean =>
      this.node(name).life !== null && this.electorate(name) !== "";
    await this.until("all have founded", () => Array.from(names).every(isKnownTo));
  }

  /** Asks it to campaign until the returned function is called; that may fail. */
  ask(name: string): () => void {
    return this.life(name).peer.campaign().stop;
  }

  /** Asks it to campaign for `forMs`. */
  async stand(name: string, forMs: number): Promise<void> {
    const done = this.ask(name);
    await this.run(forMs);
    done();
  }

  async elect(name: string): Promise<void> {
    const done = this.ask(name);
    await this.until(`${name} leads`, () => this.life(name).peer.isLeader());
    done();
  }

  /** The leader, once there is one. */
  async leader(): Promise<string> {
    await this.until("there is a leader", () => this.#checks.leader() !== null);
    return this.#checks.leader()?.name ?? "";
  }

  /** What the script has led to must have a leader. */
  expectLeader(): void {
    if (this.#checks.leader() === null)
      this.#checks.fail("L1", "there is no leader at the end of the script");
  }

  /** Until the leader has sent its next round. */
  async nextRound(name: string): Promise<void> {
    const before = this.#rounds.get(name);
    await this.until(`${name} sends a round`, () => this.#rounds.get(name) !== before);
  }
}
