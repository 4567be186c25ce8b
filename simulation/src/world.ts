/**
 * One schedule: servers, clients, readers, watchers and an operator around one store, for some seconds of virtual time
 * with faults and some without. All of it follows from the seed.
 */
import type { Entry, Store } from "@tenure/core";
import { Random, type StopPlan, VirtualClock } from "@tenure/core/testing";
import { Chaos } from "./chaos.js";
import { Checks, type Violation } from "./checks/checks.js";
import type { CoreModule } from "./core-module.js";
import type { Environment } from "./environment.js";
import { ElectionClient } from "./election-client.js";
import { Inquirer } from "./inquirer.js";
import { holdForEver } from "./neighbour.js";
import { Network } from "./network.js";
import { SimOperator } from "./operator.js";
import { type Profile, ttlsOf } from "./profile.js";
import { writeOtherVersions } from "./other-version.js";
import { Reader } from "./reader.js";
import { type Client, SimClient } from "./sim-client.js";
import { SimServer } from "./sim-server.js";
import { Trace } from "./trace.js";
import { describe, GroupTruth } from "./truth.js";
import { TruthStore } from "./truth-store.js";
import { WaitingRooms } from "./waiting-rooms.js";
import { allWatcher, groupWatcher, watchForEver } from "./watcher.js";

export interface WorldOptions {
  readonly seed: number;
  readonly profile: Profile;
  readonly modules: CoreModule;
  /** The schedule ends soon after the first violation for which this is true. */
  readonly until?: (violation: Violation) => boolean;
  /** Hashes what happens; `print` shows it too. */
  readonly traced?: boolean;
  readonly print?: (line: string) => void;
}

export interface Figures {
  elections: number;
  terms: number;
  reads: number;
  events: number;
  resyncs: number;
  uncertain: number;
  conflicts: number;
  uselessGrants: number;
  /** How long, without faults, a record was held by a term that no client ever led. */
  ghostMs: number;
}

export interface WorldReport {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly figures: Figures;
  readonly digest: string | null;
}

const DRIFT_RATIO = 0.01;
const TICK_MS = 200;
const STORE_CALL_MS = 100;
/** Far above how long a change travels to a feed without faults. */
const FEED_MS = 5;
/** The consequences of the faults are over by then. */
const SETTLED_MS = 2500;
/** An `Election` that goes by its watch asks a paused group as often as the default policy says. */
const RESUMED_MS = 5500;
/** With half a second for the rest, a takeover takes at most the lease and three seconds. */
const NOTICED_MS = 2500;

export class World {
  readonly #options: WorldOptions;
  readonly #random: Random;
  readonly #time = new VirtualClock();
  readonly #trace: Trace | null;
  readonly #groups: readonly GroupTruth[];
  readonly #byId: ReadonlyMap<string, GroupTruth>;
  readonly #checks: Checks;
  readonly #stops: StopPlan | null;
  readonly #store: Store;
  /** The last write of each key, and those that another version has made unreadable. */
  readonly #entries = new Map<string, Entry>();
  readonly #unreadable = new Set<string>();
  readonly #environment: Environment;
  readonly #clients: readonly Client[];
  /** When each was last seen to run, once the faults have ended. */
  readonly #lastSeenMs = new Map<Client, number>();

  constructor(options: WorldOptions) {
    this.#options = options;
    const { modules, profile } = options;
    const random = new Random(options.seed);
    this.#random = random;
    this.#trace =
      options.traced === true || options.print !== undefined ? new Trace(this.#time, options.print) : null;
    this.#groups = Array.from(
      { length: profile.groups },
      (_, i) => new GroupTruth(`g${i}`, ttlsOf(profile, i)[1]),
    );
    this.#byId = new Map(this.#groups.map((group) => [group.groupId, group]));
    const rooms = new WaitingRooms(() => this.#time.monotonicMs());
    const network = new Network(this.#time, random.fork(), rooms);
    // Of several stops in a row, which are rare, no two are among the longest.
    const stoppedMs = 2 * (profile.stops?.stopMs[1] ?? 0);
    this.#checks = new Checks(
      {
        driftRatio: DRIFT_RATIO,
        decidedBeforeMs: STORE_CALL_MS + stoppedMs,
        stoppedMs,
        chaosMs: profile.chaosMs,
        callMs: 2 * profile.storeMs[1],
        sightMs: profile.storeMs[1] + FEED_MS,
        behindMs: profile.behindMs,
        resumedMs: profile.elections ? RESUMED_MS : 0,
        noticedMs: profile.frozenServers ? NOTICED_MS : 0,
        settledMs: profile.behindMs + SETTLED_MS,
        groups: this.#groups,
        rooms,
        tickMs: TICK_MS,
        requests: network.requests,
        nowMs: () => this.#time.monotonicMs(),
        truth: (groupId) => this.#truth(groupId),
      },
      (violation) => this.#trace?.note("CHECK", `${violation.code}: ${violation.what}`),
    );
    const store = new modules.core.MemoryStore();
    this.#store = store;
    this.#stops = profile.stops === null ? null : { ...profile.stops };
    this.#environment = {
      modules,
      profile,
      driftRatio: DRIFT_RATIO,
      waitStyle: profile.httpTtlMs === null ? "mixed" : random.pick(["queue", "polls", "watch", "mixed"]),
      stops: this.#stops,
      time: this.#time,
      random,
      network,
      servers: Array.from({ length: random.int(...profile.servers) }, (_, i) => this.#server(`s${i}`, store)),
      groupIds: this.#groups.map((group) => group.groupId),
      checks: this.#checks,
      trace: this.#trace,
      counts: { elections: 0, reads: 0, events: 0, uselessGrants: 0, resyncs: 0 },
      led: new Set(),
    };
    this.#clients = this.#drawClients();
  }

  async run(): Promise<WorldReport> {
    const { profile } = this.#options;
    const environment = this.#environment;
    const random = this.#random;
    const operator = new SimOperator(environment, random.fork(), () => this.#nodeIds());
    const holderOf = (groupId: string) => this.#truth(groupId).record?.holder?.instanceId ?? null;
    const chaos = new Chaos(environment, this.#clients, holderOf, random.fork());
    for (const server of environment.servers) server.start();
    chaos.start();
    void operator.run();
    if (profile.busyMs !== null) void operator.keepBusy(profile.busyMs);
    for (const client of this.#clients) this.#time.after(random.between(20, 500), () => client.start());
    void new Reader(environment, random.fork(), (server) => chaos.suspendedMs.get(server) ?? 0).run();
    for (const groupId of environment.groupIds) {
      for (let i = 0; i < 2; i++) {
        const draws = random.fork();
        void watchForEver(environment, groupWatcher(environment, `w${groupId}.${i}`, groupId, draws), draws);
      }
    }
    for (let i = 0; i < profile.allWatchers; i++)
      void watchForEver(environment, allWatcher(environment, `w.${i}`), random.fork());
    if (profile.otherVersion) void this.#writeOtherVersions();
    if (profile.inquires) void new Inquirer(environment, random.fork()).run();
    const { neighbourTtlMs } = profile;
    if (neighbourTtlMs !== null)
      void holdForEver(environment, environment.groupIds.at(-1) as string, neighbourTtlMs, random.fork());
    this.#tick();
    const isComplete = await this.#runTo(profile.chaosMs + profile.quietMs);
    if (isComplete) this.#checks.onEnd();
    this.#time.stop();
    return {
      seed: this.#options.seed,
      violations: [...this.#checks.violations.values()],
      figures: this.#figures(),
      digest: this.#trace?.digest ?? null,
    };
  }

  /** Resolves to false if the schedule has ended before, with a violation that was waited for. */
  async #runTo(endMs: number): Promise<boolean> {
    const { until } = this.#options;
    if (until === undefined) {
      await this.#time.run({ untilMs: endMs });
      return true;
    }
    while (this.#time.monotonicMs() < endMs) {
      await this.#time.run({ untilMs: Math.min(endMs, this.#time.monotonicMs() + TICK_MS) });
      if ([...this.#checks.violations.values()].some(until)) return false;
    }
    return true;
  }

  #tick(): void {
    this.#checks.onTick();
    // In the quiet part some client must be there to campaign.
    if (this.#time.monotonicMs() >= this.#options.profile.chaosMs)
      for (const client of this.#clients) this.#startAgain(client);
    this.#time.after(TICK_MS, () => this.#tick());
  }

  #startAgain(client: Client): void {
    const nowMs = this.#time.monotonicMs();
    if (client.process !== null) this.#lastSeenMs.set(client, nowMs);
    else if (nowMs - (this.#lastSeenMs.get(client) ?? 0) >= this.#options.profile.awayMs) client.start();
  }

  #server(name: string, shared: Store): SimServer {
    const { modules } = this.#options;
    const random = this.#random.fork();
    const store = new TruthStore(shared, (...write) => this.#written(name, ...write));
    return new SimServer({
      name,
      modules,
      time: this.#time,
      random,
      store,
      rate: drawRate(random),
      driftRatio: DRIFT_RATIO,
      stops: this.#stops,
      explicitGroups: this.#options.profile.explicitGroups,
      keepMembers: this.#options.profile.keepsMembers,
      onClosed: (server, tookMs) => this.#checks.onClosed(server, tookMs),
    });
  }

  #drawClients(): readonly Client[] {
    const random = this.#random;
    const { profile } = this.#options;
    const count = random.int(...profile.clients);
    const noneSendInstance = random.chance(0.25);
    // Instance ids are there for two processes with one name.
    const haveNamesake = count >= 4 && random.chance(0.5);
    return Array.from({ length: count }, (_, i) => {
      // Where groups say whom they allow, names must last; over HTTP all take part by an `Election`.
      const hasInstance = profile.explicitGroups || profile.httpTtlMs !== null;
      const sendsInstance = hasInstance || !(noneSendInstance && random.chance(0.5));
      const isNamesake = haveNamesake && i === count - 1;
      const options = {
        environment: this.#environment,
        name: `c${i}`,
        nodeId: isNamesake && sendsInstance ? "n0" : `n${i}`,
        groupIds: this.#contested(),
        rate: drawRate(random),
        sendsInstance,
        random: random.fork(),
      };
      return profile.elections && sendsInstance ? new ElectionClient(options) : new SimClient(options);
    });
  }

  /** All groups but that of the neighbour. */
  #contested(): readonly string[] {
    const { groupIds, profile } = this.#environment;
    return profile.neighbourTtlMs === null ? groupIds : groupIds.slice(0, -1);
  }

  #nodeIds(): readonly string[] {
    return this.#clients.map((client) => client.nodeId);
  }

  #truth(groupId: string): GroupTruth {
    const truth = this.#byId.get(groupId);
    if (truth === undefined) throw new Error(`no group ${groupId}`);
    return truth;
  }

  #writeOtherVersions(): Promise<void> {
    return writeOtherVersions({
      environment: this.#environment,
      store: this.#store,
      random: this.#random.fork(),
      present: (key) => this.#entries.get(key),
      onSpoiled: (key, value) => {
        // A damaged page of members may be written again: it is for people. One of a newer format may not.
        if (!key.startsWith("m/") || value.startsWith('{"v":')) this.#unreadable.add(key);
        if (key.startsWith("r/")) this.#truth(key.slice(2)).interrupt(this.#time.monotonicMs());
      },
      onRepaired: ({ key, value, revision }) => {
        this.#unreadable.delete(key);
        this.#written("other", key, value, revision);
      },
    });
  }

  #written(server: string, key: string, value: string, revision: number): void {
    const { internal } = this.#options.modules;
    this.#checks.onEntry({ server, key, value, isUnreadable: this.#unreadable.has(key) });
    this.#entries.set(key, { key, value, revision });
    if (key.startsWith("m/") || !this.#byId.has(key.slice(2))) return;
    const truth = this.#truth(key.slice(2));
    if (key.startsWith("r/")) {
      const write = truth.add(server, revision, this.#time.monotonicMs(), internal.decodeRecord(value));
      this.#trace?.note("STORE", `r${revision} by ${server} ${write.groupId} ${describe(write)}`);
      this.#checks.onWrite(write);
    } else {
      const before = truth.history;
      const { events, acts } = internal.decodeHistory(value);
      truth.history = events;
      truth.historyActs = acts;
      this.#trace?.note(
        "STORE",
        `r${revision} by ${server} ${truth.groupId} history to ${truth.history.at(-1)?.number ?? 0}`,
      );
      this.#checks.onHistory(truth, before);
    }
  }

  #figures(): Figures {
    const { counts, servers } = this.#environment;
    for (const server of servers) if (server.process !== null) server.takeCounts(server.process);
    const sum = (key: "uncertain" | "conflicts") =>
      servers.reduce((total, server) => total + server.counts[key], 0);
    return {
      ...counts,
      terms: this.#groups.reduce((total, group) => total + (group.record?.term ?? 0), 0),
      uncertain: sum("uncertain"),
      conflicts: sum("conflicts"),
      ghostMs: this.#groups.reduce((total, group) => total + this.#ghostMs(group), 0),
    };
  }

  #ghostMs(group: GroupTruth): number {
    const { chaosMs, quietMs, behindMs } = this.#options.profile;
    let totalMs = 0;
    for (const { record, atMs, untilMs } of group.writes) {
      if (record.holder === null || this.#environment.led.has(`${group.groupId} ${record.term}`)) continue;
      totalMs += Math.max(
        0,
        Math.min(untilMs, chaosMs + quietMs) - Math.max(atMs, chaosMs + behindMs + SETTLED_MS),
      );
    }
    return totalMs;
  }
}

/** Mostly at the edge of what is allowed. */
function drawRate(random: Random): number {
  if (random.chance(0.3)) return 1 + DRIFT_RATIO;
  if (random.chance(3 / 7)) return 1 - DRIFT_RATIO;
  return 1 + random.between(-DRIFT_RATIO, DRIFT_RATIO);
}
