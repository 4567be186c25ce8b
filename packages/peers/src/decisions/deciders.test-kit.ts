/** Deciding servers in one process and in virtual time: links can be cut, and each server has its own electorate. */
import { MemoryStore } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { OwnRecords } from "../disk/own-records.js";
import { Uptime } from "../disk/uptime.js";
import type { Configuration } from "../protocol/messages.js";
import { Decider, type DecisionCalls } from "./decider.js";
import { decodeHeld, encodeHeld } from "../wire/decision-codec.js";
import type { HeldDecision, TxnDecision } from "./decision.js";
import { DecisionLog } from "./decision-log.js";
import { ResourceManager } from "./resource-manager.js";

export interface DecidingServer {
  readonly name: string;
  readonly log: DecisionLog;
  readonly manager: ResourceManager;
  readonly uptime: Uptime;
  readonly decider: Decider;
  /** The decisions that its resource was asked to apply. */
  readonly applied: TxnDecision[];
  /** The electorate as it knows it. */
  config: Configuration;
}

export const LIMIT_MS = 1000;

export function electorateOf(names: string, term = 1, n = 0): Configuration {
  const members = Object.fromEntries(
    Array.from(names).map((name) => [name, { endpoint: name, disk: `disk-${name}` }] as const),
  );
  return { cluster: "c", epoch: { term, n }, members };
}

export class Deciders {
  readonly clock: VirtualClock = new VirtualClock();
  readonly names: readonly string[];
  /** `from to`, for calls that fail. */
  readonly cut: Set<string> = new Set();
  /** Servers whose answers never come. */
  readonly silent: Set<string> = new Set();
  /** How many more servers can be asked to remember before the coordinator dies. */
  remembers: number = Number.POSITIVE_INFINITY;
  /** The resource managers; all servers by default. */
  managers: readonly string[];
  /** Runs before each call. */
  onCall: (call: string) => void = () => {};
  readonly #stores = new Map<string, MemoryStore>();
  readonly #servers = new Map<string, DecidingServer>();

  private constructor(names: string) {
    this.names = Array.from(names);
    this.managers = this.names;
  }

  static async of(names: string, electorate: string = names): Promise<Deciders> {
    const deciders = new Deciders(names);
    for (const name of names) await deciders.start(name, electorateOf(electorate));
    return deciders;
  }

  at(name: string): DecidingServer {
    const server = this.#servers.get(name);
    if (server === undefined) throw new Error(`no server ${name}`);
    return server;
  }

  isolate(name: string): void {
    for (const other of this.names) {
      if (other !== name) this.cut.add(`${name} ${other}`).add(`${other} ${name}`);
    }
  }

  /** Over its earlier disk, if it had one. */
  async start(name: string, config: Configuration): Promise<DecidingServer> {
    const store = this.#stores.get(name) ?? new MemoryStore();
    this.#stores.set(name, store);
    const records = await OwnRecords.open(store);
    const applied: TxnDecision[] = [];
    const manager = new ResourceManager(records, { apply: async (decision) => void applied.push(decision) });
    const uptime = new Uptime(records, this.clock);
    const log = new DecisionLog({ records, uptime, manager });
    const decider = new Decider({
      self: { identity: name, endpoint: name },
      clock: this.clock,
      limitMs: LIMIT_MS,
      log,
      calls: this.#calls(name),
      electorate: () => this.at(name).config,
      members: () => this.names,
      resourceManagers: () => this.managers,
      onFinal: () => {},
      onFailure: () => {},
    });
    const server = { name, log, manager, uptime, decider, applied, config };
    this.#servers.set(name, server);
    return server;
  }

  #calls(from: string): DecisionCalls {
    const reach = async (to: string, verb: string): Promise<DecidingServer> => {
      this.onCall(`${from} ${to} ${verb}`);
      if (this.cut.has(`${from} ${to}`)) throw new Error("cut");
      if (this.silent.has(to)) await new Promise(() => {});
      return this.at(to);
    };
    const heard = async <T>(to: string, verb: string, work: (server: DecidingServer) => Promise<T>) => ({
      from: { identity: to, disk: `disk-${to}` },
      value: await work(await reach(to, verb)),
    });
    return {
      prepare: (to, txnId, term) => heard(to, "prepare", ({ log }) => log.prepare(txnId, term)),
      remember: (to, decision) =>
        heard(to, "remember", ({ log }) => {
          if (this.remembers-- <= 0) throw new Error("dead");
          return log.remember(decision);
        }),
      held: (to, { term, which, after }) =>
        heard(to, "held", async ({ log }) => {
          const page = await log.page(term, which, after);
          return page.kind === "stale" ? page : { ...page, decisions: overWire(page.decisions) };
        }),
      tell: (to, decisions) => heard(to, "tell", ({ log }) => log.take(overWire(decisions))),
      apply: async (to, decision) => (await reach(to, "apply")).manager.apply(decision),
    };
  }
}

/** As another server receives them: entries that the wire refuses do not arrive. */
function overWire(decisions: readonly HeldDecision[]): readonly HeldDecision[] {
  return decisions.map(encodeHeld).map(decodeHeld);
}
