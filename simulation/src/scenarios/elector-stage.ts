/**
 * A schedule of electors, written by hand: servers that are real `StoreElector`s over one store, and nodes that send them
 * requests and keep their deadlines as a leader does. Messages take no time unless the scenario says so. Everything that
 * the store accepts and every answer is printed, with the true time in milliseconds in front.
 */
import type { ElectorAdmin, StoreElector, LedTerm, SendMoment } from "@tenure/core";
import type { FaultPlan, ProcessClock, VirtualClock } from "@tenure/core/testing";
import type { ElectorModule } from "./elector-module.js";
import type { Print } from "./scenario.js";
import { type Fate, FatefulStore, Journal } from "./stage-store.js";
import { wordHistory, wordMs, wordRecord, wordWatched } from "./wording.js";

export const GROUP = "g";

interface Server {
  readonly clock: ProcessClock;
  readonly plan: FaultPlan;
  readonly store: FatefulStore;
  readonly elector: StoreElector;
}

/** A participant: one process, as far as its deadline and its instance id are concerned. */
export class StageNode {
  readonly name: string;
  readonly clock: ProcessClock;
  #rate = 1;
  #starts = 1;
  led: LedTerm | null = null;
  /** An operator has freed the group by force: only the term separates this leader from the next one. */
  isForcedOut = false;
  /** Of the request that it sent last. */
  connection: AbortController = new AbortController();

  constructor(name: string, clock: ProcessClock) {
    this.name = name;
    this.clock = clock;
  }

  get instanceId(): string {
    return `${this.name}${this.#starts}`;
  }

  /** In true time from now; 0 if the process may not act. */
  get leftMs(): number {
    return Math.max(0, this.led?.leftMs() ?? 0) / this.#rate;
  }

  setRate(rate: number): void {
    this.#rate = rate;
    this.clock.setRate(rate);
  }

  /** A new process with a new instance id, which has not won anything. */
  restart(): void {
    this.#starts++;
    this.connection.abort(new Error("the node has restarted"));
    this.led = null;
  }
}

export class ElectorStage {
  readonly #modules: ElectorModule;
  readonly #print: Print;
  readonly #time: VirtualClock;
  readonly #truth: InstanceType<ElectorModule["core"]["MemoryStore"]>;
  readonly #servers = new Map<string, Server>();
  readonly #nodes = new Map<string, StageNode>();
  /** The numbers of the last event and the last act that the record had. */
  #last = { event: 0, act: 0 };
  /** Those that may act, when it was last looked at. */
  #leaders = "";
  #unanswered = new Set<string>();
  #isQuiet = false;

  constructor(modules: ElectorModule, print: Print) {
    this.#modules = modules;
    this.#print = print;
    this.#time = new modules.testing.VirtualClock();
    this.#truth = new modules.core.MemoryStore();
  }

  start(name: string, rate = 1): void {
    if (this.#servers.has(name)) throw new Error(`server ${name} runs already`);
    const { core, testing } = this.#modules;
    const clock = this.#time.process({ rate });
    const plan = testing.noFaults();
    const truth = new Journal(this.#truth, (key, value) => this.#written(name, key, value));
    const random = new testing.Random(1);
    const faulty = new testing.FaultyStore({ store: truth, time: this.#time, random, plan, gate: clock });
    const store = new FatefulStore({ faulty, truth, time: this.#time });
    const elector = core.StoreElector.open({ store, clock, random: () => 0.5 });
    this.#servers.set(name, { clock, plan, store, elector });
  }

  crash(name: string): void {
    this.server(name).clock.kill();
    this.#servers.delete(name);
  }

  server(name: string): Server {
    const server = this.#servers.get(name);
    if (server !== undefined) return server;
    throw new Error(`no server ${name} runs; start it with "${name} starts"`);
  }

  /** Of a server or of a node. */
  clockOf(process: string): ProcessClock {
    return this.#servers.get(process)?.clock ?? this.node(process).clock;
  }

  meet(server: string, fate: Fate): void {
    this.server(server).store.next(fate);
  }

  stallFeed(server: string, forMs: number): void {
    this.server(server).plan.feedStalledUntilMs = this.#time.monotonicMs() + forMs;
  }

  node(name: string): StageNode {
    const node = this.#nodes.get(name) ?? new StageNode(name, this.#time.process());
    this.#nodes.set(name, node);
    return node;
  }

  /** From now on only its term separates the present leader from the next one. */
  forceOut(): void {
    for (const node of this.#nodes.values()) node.isForcedOut = node.leftMs > 0;
  }

  async advance(ms: number): Promise<void> {
    await this.#time.advance(ms);
    this.#look();
  }

  /** Sends a request of a node or an operator, and prints how it is answered; at once, or during a later command. */
  async ask<T>(
    who: string,
    at: string,
    send: (elector: ElectorAdmin, signal: AbortSignal) => Promise<T>,
    answered: (answer: T) => string,
  ): Promise<void> {
    const { clock, elector } = this.server(at);
    const connection = new AbortController();
    this.node(who).connection = connection;
    const says = `${at} to ${who}:`;
    const answer = (words: () => string): void =>
      this.node(who).clock.pass(() => {
        this.#unanswered.delete(says);
        this.#note(`${says} ${words()}`);
        this.#look();
      });
    this.#unanswered.add(says);
    clock.pass(() => {
      send(elector, connection.signal).then(
        (value) => answer(() => answered(value)),
        (error: unknown) => answer(() => this.#wordError(error)),
      );
    });
    await this.advance(0);
    if (this.#unanswered.has(says)) this.#note(`${says} no answer yet`);
  }

  /** Prints each event that the node is shown, until it hangs up. */
  async watch(who: string, at: string, cursor: number | undefined): Promise<void> {
    const { elector } = this.server(at);
    const connection = new AbortController();
    this.node(who).connection = connection;
    const follow = async (): Promise<void> => {
      for await (const event of elector.watch(GROUP, { cursor, signal: connection.signal }))
        this.#note(`${at} shows ${who} ${wordWatched(event)}`);
    };
    follow().catch((error: unknown) => this.#note(`${at} to ${who}: ${this.#wordError(error)}`));
    await this.advance(0);
  }

  /** Nothing that happens meanwhile is printed. */
  async quietly(work: () => Promise<void>): Promise<void> {
    this.#isQuiet = true;
    const done = work();
    await this.advance(0);
    await done;
    this.#isQuiet = false;
  }

  /** A successful answer, as the leader counts it. */
  lead(
    node: StageNode,
    term: number,
    lease: { sent: SendMoment; ttlMs: number; waitedMs?: number | undefined },
  ): string {
    const { LedTerm, DEFAULT_DRIFT_RATIO } = this.#modules.core;
    if (node.led?.term !== term) node.led = new LedTerm(term, node.clock, DEFAULT_DRIFT_RATIO);
    node.isForcedOut = false;
    if (!node.led.extend(lease)) return `${node.name} may not act: the answer came too late`;
    return this.#wordDeadline(node);
  }

  showDeadline(name: string): void {
    const node = this.node(name);
    this.#note(node.leftMs === 0 ? `${name} may not act` : this.#wordDeadline(node));
    this.#look();
  }

  #wordDeadline({ name, leftMs }: StageNode): string {
    return `${name} may act until ${wordMs(this.#time.monotonicMs() + leftMs)}`;
  }

  sendMoment(node: StageNode): SendMoment {
    return this.#modules.core.sendMoment(node.clock);
  }

  /** Ends the world: nothing of it runs any more. */
  close(): void {
    for (const { clock } of this.#servers.values()) clock.kill();
    this.#time.stop();
  }

  #written(server: string, key: string, value: string): void {
    const { decodeHistory, decodeRecord } = this.#modules.internal;
    if (key === `h/${GROUP}`)
      this.#note(`${server} writes the history: ${wordHistory(decodeHistory(value))}`);
    if (key !== `r/${GROUP}`) return;
    const record = decodeRecord(value);
    this.#note(`${server} writes: ${wordRecord(record, this.#last)}`);
    this.#last = { event: record.eventNumber, act: record.act?.number ?? 0 };
  }

  #wordError(error: unknown): string {
    if (error instanceof this.#modules.internal.CodedError) return String(error.code);
    return error instanceof Error ? error.message : String(error);
  }

  /** What must never be: two nodes that may act, unless an operator has forced it. Shown when it begins. */
  #look(): void {
    const leaders = [...this.#nodes.values()].filter(({ leftMs, isForcedOut }) => leftMs > 0 && !isForcedOut);
    const names = leaders.map(({ name }) => name).join(" and ");
    if (leaders.length > 1 && names !== this.#leaders)
      this.#note(`VIOLATION: ${names} may act at the same time`);
    this.#leaders = names;
  }

  #note(line: string): void {
    if (!this.#isQuiet) this.#print(`${wordMs(this.#time.monotonicMs())} | ${line}`);
  }
}
