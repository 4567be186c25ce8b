/** Which faults happen, and when, for a while; then there are none. */
import { sleep } from "@tenure/core";
import type { FaultPlan, ProcessClock, Random } from "@tenure/core/testing";
import type { Environment } from "./environment.js";
import type { Client } from "./sim-client.js";
import type { SimServer } from "./sim-server.js";

const HOUR_MS = 3_600_000;
const CUT_OFF_RATE = 0.3;
const SEEN_MS = 1000;
/** A server treats a silent feed as dead after this time. */
const NOTICED_MS = 5000;
/** A watcher at a server that was frozen has caught up before the end. */
const CAUGHT_UP_MS = 3000;

export class Chaos {
  /** Per server, how long its monotonic clock has stood still since it was last started. */
  readonly suspendedMs: Map<string, number> = new Map();
  readonly #environment: Environment;
  readonly #clients: readonly Client[];
  readonly #holderOf: (groupId: string) => string | null;
  readonly #random: Random;

  /** `holderOf`: the instance that really holds a group. */
  constructor(
    environment: Environment,
    clients: readonly Client[],
    holderOf: (groupId: string) => string | null,
    random: Random,
  ) {
    this.#environment = environment;
    this.#clients = clients;
    this.#holderOf = holderOf;
    this.#random = random;
    environment.network.lastArrivalMs = environment.profile.chaosMs;
    for (const server of environment.servers) this.#spoil(server.plan);
  }

  start(): void {
    const { servers, profile, time } = this.#environment;
    for (const server of servers) void this.#troubleServer(server);
    for (const client of this.#clients) void this.#troubleClient(client);
    if (profile.wallJumps) void this.#jumpWall(this.#random.pick(servers));
    time.at(profile.chaosMs, () => this.#endFaults());
  }

  get #isOver(): boolean {
    return this.#environment.time.monotonicMs() >= this.#environment.profile.chaosMs;
  }

  /** Ends the faults. */
  #untilEnd(forMs: number): number {
    return Math.min(forMs, this.#environment.profile.chaosMs - this.#environment.time.monotonicMs());
  }

  /** Faults that happen all the time. */
  #spoil(plan: FaultPlan): void {
    const random = this.#random;
    plan.requestMs = [0.2, 4];
    plan.answerMs = [0.2, 4];
    plan.giveUpMs = [30, 200];
    plan.conflictRate = 0.01;
    plan.lostRequestRate = 0.02;
    plan.lostAnswerRate = 0.03;
    plan.lateRate = 0.03;
    plan.lateMs = 1500;
    plan.syncFailRate = 0.01;
    plan.mixedRate = this.#environment.profile.mixedRate;
    // A stream that leaves values out does so when it lags.
    plan.coalesceRate = random.chance(0.4) ? random.between(0.3, 0.9) : 0;
    plan.feedMs = plan.coalesceRate > 0 || random.chance(0.2) ? [0.1, 100] : [0.1, 6];
  }

  #endFaults(): void {
    const { servers, network, trace, stops, profile } = this.#environment;
    trace?.note("chaos", "is over");
    if (stops !== null) stops.rate = 0;
    Object.assign(network.faults, { lossRate: 0, duplicateRate: 0, lateRate: 0, slowRate: 0 });
    for (const { plan, process } of servers) {
      Object.assign(plan, this.#environment.modules.testing.noFaults());
      plan.requestMs = profile.storeMs;
      plan.answerMs = profile.storeMs;
      plan.feedMs = [0.1, 2];
      process?.clock.resume();
    }
    for (const server of servers) server.start();
    for (const client of this.#clients) {
      client.process?.clock.resume();
      client.woke("suspend");
      client.start();
    }
    if (profile.elections) void this.#stopLeaders();
    if (profile.frozenServers) void this.#freezeServer();
  }

  async #troubleServer(server: SimServer): Promise<void> {
    const { time } = this.#environment;
    const random = this.#random.fork();
    for (;;) {
      await sleep(time, random.between(300, this.#environment.profile.peaceMs));
      if (this.#isOver) return;
      const { plan, process } = server;
      const { closes, silentFeeds, chaosMs } = this.#environment.profile;
      if (process === null) continue;
      if (closes && random.chance(0.3)) {
        await this.#close(server, random.between(20, 800));
        continue;
      }
      if (silentFeeds && random.chance(0.3)) {
        // After a feed that delivered nothing at all, a server gives the next one twice the time: too long for the end of the faults.
        if (process.store.isOpeningFeed && time.monotonicMs() > chaosMs - NOTICED_MS) continue;
        process.store.silenceFeeds();
        this.#environment.trace?.note(server.name, "its feed goes silent");
        continue;
      }
      const nowMs = time.monotonicMs();
      const dice = random.next();
      if (dice < 0.14) await this.#stop(server.name, process.clock, "pause", random.between(20, 1500));
      else if (dice < 0.24) await this.#stop(server.name, process.clock, "suspend", random.between(50, 2500));
      else if (dice < 0.38) await this.#crash(server, random.between(20, 800));
      else if (dice < 0.46) this.#stepWall(server.name, process.clock, random.between(-2000, 2000));
      else if (dice < 0.56) plan.outageUntilMs = nowMs + random.between(50, 900);
      else if (dice < 0.72) plan.feedStalledUntilMs = nowMs + random.between(50, 1200);
      else if (dice < 0.84) process.store.breakFeeds();
      else await this.#uncertainSpell(plan, random.between(100, 800));
      this.#environment.trace?.note(server.name, `trouble ${dice.toFixed(2)}`);
    }
  }

  async #troubleClient(client: Client): Promise<void> {
    const { time } = this.#environment;
    const random = this.#random.fork();
    for (;;) {
      await sleep(time, random.between(300, this.#environment.profile.peaceMs * 1.25));
      if (this.#isOver) return;
      const { process } = client;
      if (process === null) {
        client.start();
        continue;
      }
      if (this.#environment.profile.elections && random.chance(CUT_OFF_RATE)) {
        const forMs = random.between(200, 2500);
        this.#environment.trace?.note(client.name, `is cut off for ${forMs.toFixed(1)} ms`);
        this.#environment.network.cutOff(process.clock, this.#untilEnd(forMs));
        continue;
      }
      const dice = random.next();
      if (dice < 0.5) {
        const how = dice < 0.25 ? "pause" : "suspend";
        const forMs = how === "pause" ? random.between(20, 2000) : random.between(50, 2500);
        await this.#stop(client.name, process.clock, how, forMs);
        client.woke(how);
      } else if (dice < 0.75) await this.#crash(client, random.between(20, 800));
      else if (dice < 0.85) this.#stepWall(client.name, process.clock, random.between(-2000, 2000));
      else client.stop();
    }
  }

  /** Leaders also end without faults: some resign, some crash. */
  async #stopLeaders(): Promise<never> {
    const { time, groupIds, trace, profile } = this.#environment;
    const random = this.#random.fork();
    for (;;) {
      await sleep(time, random.between(...profile.leaderPeaceMs));
      const holder = this.#holderOf(random.pick(groupIds));
      const client = this.#clients.find(({ process }) => holder !== null && process?.instanceId === holder);
      if (client === undefined) continue;
      const crashes = random.chance(0.5);
      trace?.note(client.name, crashes ? "crashes" : "is stopped");
      if (crashes) client.crash();
      else client.stop();
    }
  }

  /**
   * Always the same server: the others run, and have seen every renewal when it was made. A server that was away has
   * not, and keeps a lease as if it had been renewed just then.
   */
  async #freezeServer(): Promise<void> {
    const { time, servers, network, trace, profile } = this.#environment;
    const random = this.#random.fork();
    const server = random.pick(servers);
    // By then the others have seen for the length of a lease what was written during the faults.
    await sleep(time, (profile.httpTtlMs?.[1] ?? 0) + SEEN_MS);
    for (;;) {
      await sleep(time, random.between(100, 4000));
      const { process } = server;
      const leftMs = profile.chaosMs + profile.quietMs - CAUGHT_UP_MS - time.monotonicMs();
      const forMs = Math.min(random.between(500, 12_000), leftMs);
      if (forMs < 0) return;
      if (process === null) continue;
      const how = random.pick(["freeze", "swallow", "crash"] as const);
      if (how === "freeze") {
        await this.#stop(server.name, process.clock, "pause", forMs);
      } else if (how === "crash") {
        await this.#crash(server, forMs);
      } else {
        trace?.note(server.name, `is cut off from all clients for ${forMs.toFixed(1)} ms`);
        network.swallow(server, forMs);
        await sleep(time, forMs);
      }
    }
  }

  async #stop(name: string, clock: ProcessClock, how: "pause" | "suspend", forMs: number): Promise<void> {
    this.#environment.trace?.note(name, `${how}s for ${forMs.toFixed(1)} ms`);
    clock[how]();
    if (how === "suspend") this.suspendedMs.set(name, (this.suspendedMs.get(name) ?? 0) + forMs);
    await sleep(this.#environment.time, forMs);
    clock.resume();
    this.#environment.trace?.note(name, "goes on");
  }

  /** No other fault happens to it until it is gone. */
  async #close(server: SimServer, downMs: number): Promise<void> {
    this.#environment.trace?.note(server.name, "closes");
    await server.close();
    await sleep(this.#environment.time, downMs);
    server.start();
  }

  async #crash(who: SimServer | Client, downMs: number): Promise<void> {
    this.#environment.trace?.note(who.name, `crashes, down for ${downMs.toFixed(1)} ms`);
    who.crash();
    await sleep(this.#environment.time, downMs);
    who.start();
  }

  #stepWall(name: string, clock: ProcessClock, byMs: number): void {
    this.#environment.trace?.note(name, `wall clock steps by ${byMs.toFixed(0)} ms`);
    clock.stepWall(byMs);
  }

  async #uncertainSpell(plan: FaultPlan, forMs: number): Promise<void> {
    const { lostRequestRate, lostAnswerRate, lateRate } = plan;
    Object.assign(plan, { lostRequestRate: 0.15, lostAnswerRate: 0.3, lateRate: 0.25 });
    await sleep(this.#environment.time, forMs);
    if (!this.#isOver) Object.assign(plan, { lostRequestRate, lostAnswerRate, lateRate });
  }

  async #jumpWall(server: SimServer): Promise<void> {
    for (;;) {
      await sleep(this.#environment.time, this.#random.between(50, 500));
      const clock = server.process?.clock;
      if (clock !== undefined) this.#stepWall(server.name, clock, this.#random.between(-HOUR_MS, HOUR_MS));
    }
  }
}
