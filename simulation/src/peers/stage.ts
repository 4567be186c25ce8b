/**
 * A schedule that a scenario writes by hand, watched by the checkers of the simulation. A message takes `MESSAGE_MS` unless
 * the scenario says otherwise. Nodes are either puppets, which campaign, announce or fail only if the scenario says so, or
 * servers, which do everything that a server does. What the nodes store, refuse and report is printed, with the true time
 * in milliseconds in front.
 */
import { Random, VirtualClock } from "@tenure/core/testing";
import type { PeerState } from "@tenure/peers/protocol";
import type { Print } from "../scenarios/scenario.js";
import { DecisionChecks } from "./decision-checks.js";
import { PeerChecks, type PeerViolation } from "./peer-checks.js";
import type { PeerModule } from "./peer-module.js";
import { PeerNetwork } from "./peer-network.js";
import { wordEvent, wordNames, wordStored, wordVerdict } from "./peer-wording.js";
import type { Services } from "./services.js";
import { type PeerEnvironment, type PeerLife, SimPeer, TTL_MS } from "./sim-peer.js";

/** One way. */
const MESSAGE_MS = 2;
/** How finely a condition is looked at: between two messages of puppets, and between rounds of servers. */
const STEP_MS = { puppets: 0.5, servers: 5 };
/** How fast the time of servers passes by which decisions are kept: an hour in 36 seconds. */
const SPEED = 100;
/** A scenario whose condition is not met within this time is wrong. */
const MAX_MS = 20_000;

const VIOLATION = "VIOLATION";

export type Names = readonly string[];

export interface StageOptions {
  /** Each has the endpoints of all of them in its join list. */
  readonly founders: Names;
  readonly later: Names;
  /** Servers instead of puppets. */
  readonly servers: boolean;
  readonly print: Print;
}

export class Stage {
  readonly time: VirtualClock = new VirtualClock();
  readonly network: PeerNetwork;
  readonly #print: Print;
  readonly #checks: PeerChecks;
  readonly #nodes: readonly SimPeer[];
  readonly #founders: Names;
  /** By node: how many renewals it has sent. */
  readonly #rounds = new Map<string, number>();
  readonly #slow = new Map<string, number>();
  readonly #slowAnswers = new Map<string, number>();
  /** By node: ends its campaign. */
  readonly #campaigns = new Map<string, () => void>();
  readonly #arePuppets: boolean;
  readonly #parts = new Map<string, string>();
  /** True time of the start of the story; `null` while that what comes before it happens, which is not printed. */
  #beganAtMs: number | null = 0;

  constructor(modules: PeerModule, { founders, later, servers, print }: StageOptions) {
    this.#print = print;
    this.#founders = founders;
    this.#arePuppets = !servers;
    const random = new Random(1);
    this.#checks = new PeerChecks(
      () => this.time.monotonicMs(),
      () => this.#nodes,
      ({ code, what }) => this.note(`${VIOLATION} ${code}: ${what}`),
    );
    this.network = new PeerNetwork({
      time: this.time,
      random: random.fork(),
      find: (endpoint) => this.#nodes.find((node) => node.endpoint === endpoint)?.life ?? null,
      onAnswer: (state, call, answer) => {
        this.note(wordVerdict(call, answer));
        this.#checks.answered(state);
      },
      afterDelivery: this.#checks.look,
    });
    const environment: PeerEnvironment = {
      modules,
      time: this.time,
      network: this.network,
      checks: this.#checks,
      trace: null,
      journal: {
        happened: (name, event) => this.note(wordEvent(name, event)),
        stored: (name, change) => this.note(wordStored(name, change)),
      },
      slowWriteRate: 0,
      decisions: new DecisionChecks(this.#checks, () => this.#nodes),
      decides: servers,
      speed: SPEED,
      endpoints: () => [],
    };
    const join = founders.map((name) => `${name}0`);
    const stands = servers ? "always" : "asked";
    this.#nodes = [...founders, ...later].map(
      (name) => new SimPeer({ name, environment, random: random.fork(), rate: 1, join, stands }),
    );
    this.network.cutsRefuse = true;
    this.network.travelMs = (from, to, verb) => {
      if (verb === "renew") this.#rounds.set(from, (this.#rounds.get(from) ?? 0) + 1);
      return this.#slow.get(`${from} ${verb}`) ?? this.#slow.get(`>${to} ${verb}`) ?? MESSAGE_MS;
    };
    this.network.answerMs = (from) => this.#slowAnswers.get(from) ?? MESSAGE_MS;
  }

  get violations(): readonly PeerViolation[] {
    return [...this.#checks.violations.values()];
  }

  /** Ends the world: nothing of it runs any more. */
  close(): void {
    for (const { life } of this.#nodes) life?.clock.kill();
    this.time.stop();
  }

  /** Repetitions within a block say nothing new: a node that retries is refused again, and waits again. */
  note(words: string | null): void {
    if (words === null) return;
    const nowMs = this.time.monotonicMs();
    if (this.#beganAtMs === null && !words.startsWith(VIOLATION)) return;
    this.#print(`${Math.round(nowMs - (this.#beganAtMs ?? 0))} | ${words}`, { once: words });
  }

  get names(): Names {
    return this.#nodes.map(({ name }) => name);
  }

  node(name: string): SimPeer {
    const node = this.#nodes.find((each) => each.name === name);
    if (node !== undefined) return node;
    throw new Error(`there is no node ${name}; there are ${wordNames(this.names)}`);
  }

  /** The node that has this name, or plays this part since `settle`. */
  named(name: string): string {
    return this.#parts.get(name) ?? this.node(name).name;
  }

  life(name: string): PeerLife {
    const { life } = this.node(name);
    if (life === null) throw new Error(`${name} does not run; start it with "${name} starts"`);
    return life;
  }

  state(name: string): PeerState {
    return this.life(name).peer.answers.state();
  }

  /** The electorate as the node knows it; empty if the node does not run or knows none. */
  electorate(name: string): string {
    const { life } = this.node(name);
    return wordNames(Object.keys(life?.peer.answers.state().config?.members ?? {}));
  }

  isLeader(name: string): boolean {
    return this.node(name).life?.peer.isLeader() === true;
  }

  /** Puppets take those who found the cluster for active, until they are made to believe otherwise. */
  start(names: Names): void {
    for (const name of names) {
      this.node(name).start();
      if (this.#arePuppets) this.believe(name, { active: this.#founders, left: [] });
    }
  }

  /** Of a server. */
  services(name: string): Services {
    const { services } = this.life(name);
    if (services === null) throw new Error(`${name} is a puppet; use the header "nodes: servers"`);
    return services;
  }

  /** What this node believes of the membership; without `leaving`, it is leaving if it is among those that left. */
  believe(
    name: string,
    { active, left, leaving = left.includes(name) }: { active: Names; left: Names; leaving?: boolean },
  ): void {
    const members = active.map((each) => this.node(each).member());
    this.life(name).membership.dream = { active: members, left, leaving };
  }

  /** Two servers announce themselves to this node as `contested`, in turn. */
  believeInTwins(name: string, contested: string): void {
    const active = this.#founders.map((each) => this.node(each).member());
    const seen = active.map((each) =>
      each.identity === contested ? { ...each, disk: "twin", contested: true } : each,
    );
    this.life(name).membership.dream = { active: seen, left: [] };
  }

  /** Nothing passes between `a` and any of `others`, in either direction. */
  cut(a: string, others: Names): void {
    this.cutOneWay([a], others);
    this.cutOneWay(others, [a]);
  }

  /** Nothing passes from any of `from` to any of `to`, neither requests nor answers. */
  cutOneWay(from: Names, to: Names): void {
    for (const a of from) for (const b of to) this.network.cuts.add(`${a}>${b}`);
  }

  join(a: string, others: Names): void {
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

  /** From now on answers from this node take `ms`. */
  slowDownAnswers(name: string, ms: number): void {
    this.#slowAnswers.set(name, ms);
  }

  async run(ms: number): Promise<void> {
    await this.time.advance(ms);
    this.#checks.look();
  }

  async until(what: string, condition: () => boolean): Promise<void> {
    if (!(await this.comesTrue(MAX_MS, condition))) throw new Error(`not within ${MAX_MS} ms: ${what}`);
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

  /** What the scenario has led to must come within that time. */
  async expect(what: string, withinMs: number, condition: () => boolean): Promise<void> {
    if (await this.comesTrue(withinMs, condition)) this.note(what);
    else this.#checks.fail("L6", `not within ${withinMs} ms: ${what}`);
  }

  /** What a story begins with: they have founded a cluster, and know its electorate. Not a part of the story. */
  async found(names: Names): Promise<void> {
    await this.#before(async () => {
      this.start(names);
      await this.until("all have founded", () => names.every((name) => this.electorate(name) !== ""));
    });
  }

  /**
   * What a story of servers begins with: they have a leader, are members of each other, and are registered. Chance decides
   * which of them leads. The story calls that server `leader`, and the first of the others `follower`.
   */
  async settle(names: Names): Promise<void> {
    await this.found(names);
    await this.#before(async () => {
      await this.until("a server leads", () => this.leader() !== null);
      await this.run(4 * TTL_MS);
    });
    const leader = this.leader() ?? "";
    const follower = names.find((name) => name !== leader) ?? "";
    this.#parts.set("leader", leader).set("follower", follower);
    this.note(`${leader} leads, ${follower} is called the follower`);
  }

  async #before(prepare: () => Promise<void>): Promise<void> {
    this.#beganAtMs = null;
    await prepare();
    this.#beganAtMs = this.time.monotonicMs();
  }

  /** Asks it to campaign until `stopCampaign`; that may fail. */
  campaign(name: string): void {
    this.stopCampaign(name);
    this.#campaigns.set(name, this.life(name).peer.campaign().stop);
  }

  stopCampaign(name: string): void {
    this.#campaigns.get(name)?.();
    this.#campaigns.delete(name);
  }

  async elect(name: string): Promise<void> {
    this.campaign(name);
    await this.until(`${name} leads`, () => this.isLeader(name));
    this.stopCampaign(name);
  }

  leader(): string | null {
    return this.#checks.leader()?.name ?? null;
  }

  /** Until the leader has sent its next round. */
  async nextRound(name: string): Promise<void> {
    const before = this.#rounds.get(name);
    await this.until(`${name} sends a round`, () => this.#rounds.get(name) !== before);
  }
}
