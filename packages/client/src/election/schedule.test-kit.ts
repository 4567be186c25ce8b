/**
 * One seed runs a world of three processes through pauses, sleeps, crashes, outages, lost and late writes, bad health,
 * stops and an operator's actions, and checks in true time what the elections promise. The first broken promise is
 * thrown.
 */
import { Random } from "@tenure/core/testing";
import type { ElectionOptions } from "./options.js";
import { NO_METRICS } from "./telemetry.js";
import { type Distant, World } from "./world.test-kit.js";

const TTL_MS = 1000;
/** The longest heartbeat interval that is drawn. */
const HEARTBEAT_MS = 300;
const STORM_MS = 12_000;
const QUIET_MS = 15_000;
/** How long calls for one lease may share a reading of the boot clock. */
const SHARED_LOOK_MS = 1.1;

interface Process extends Distant {
  readonly name: string;
  /** Terms that were promoted and not yet aborted. */
  working: number | null;
  /** Between promote and demote. */
  promoted: boolean;
  promotions: number;
  demotions: number;
  healthy: boolean;
  stopped: Promise<void> | null;
  /** Timers on the other clock may be late by a heartbeat after a sleep. */
  wokeAtMs: number;
}

export interface Tally {
  readonly terms: number;
  readonly looks: number;
  readonly acts: number;
}

export interface ScheduleOptions {
  /** Loggers, metrics, spans, listeners and hooks throw, reject, call the election, or stall the process. */
  readonly unruly?: boolean;
}

export async function runSchedule(seed: number, { unruly = false }: ScheduleOptions = {}): Promise<Tally> {
  const schedule = new Schedule(seed, unruly);
  await schedule.storm();
  await schedule.quiet();
  return schedule.tally();
}

class Schedule {
  readonly #random: Random;
  readonly #world: World;
  readonly #processes: Process[] = [];
  readonly #gone: Process[] = [];
  /** The node that was promoted in each term. */
  readonly #promoted = new Map<number, string>();
  readonly #broken: string[] = [];
  readonly #unruly: boolean;
  /** From now on no fault is injected, not even by the processes themselves. */
  #calm = false;
  #incarnations = 0;
  #looks = 0;
  #acts = 0;
  #lookedAtMs = 0;

  constructor(seed: number, unruly: boolean) {
    this.#unruly = unruly;
    this.#random = new Random(seed);
    this.#world = new World(seed);
    for (const nodeId of ["a", "b", "c"]) this.#processes.push(this.#start(nodeId));
  }

  tally(): Tally {
    return { terms: this.#promoted.size, looks: this.#looks, acts: this.#acts };
  }

  async storm(): Promise<void> {
    const { clock } = this.#world;
    while (clock.monotonicMs() < STORM_MS) {
      await this.#pass(this.#random.between(1, 250));
      const one = this.#random.pick(this.#processes);
      if (this.#random.chance(0.6)) this.#act(one);
      if (this.#random.chance(0.7)) this.#look();
    }
  }

  /** After all faults have ended exactly one node leads, the store agrees, and stopped nodes have ended. */
  async quiet(): Promise<void> {
    const { operator } = this.#world;
    this.#calm = true;
    for (const each of [...this.#processes, ...this.#gone]) {
      Object.assign(each.plan, { lostAnswerRate: 0, lostRequestRate: 0, lateRate: 0, syncFailRate: 0 });
      Object.assign(each.plan, { outageUntilMs: 0, feedStalledUntilMs: 0 });
      each.healthy = true;
      this.#wake(each);
    }
    await this.#world.until(operator.resume({ groupId: "g" }).catch(() => {}));
    for (let ms = 0; ms < QUIET_MS; ms += 500) {
      await this.#pass(500);
      this.#look();
    }
    const leading = this.#processes.filter(({ election }) => election.isLeader());
    const { leader } = (await this.#world.until(operator.leader("g"))).value;
    if (leading.length !== 1) this.#break(`${leading.length} lead after all is quiet`);
    else if (leader?.nodeId !== leading[0]?.name || leader?.term !== leading[0]?.election.term())
      this.#break(`the store names ${leader?.nodeId} in term ${leader?.term}, not the one that leads`);
    await this.#end();
  }

  async #end(): Promise<void> {
    const ending = this.#processes.map(({ election }) => election.stop());
    const earlier = this.#gone.flatMap(({ stopped, clock }) =>
      stopped !== null && !clock.isKilled ? [stopped] : [],
    );
    await this.#world.until(Promise.all([...ending, ...earlier]), 20_000);
    for (const { name, clock, promotions, demotions } of [...this.#processes, ...this.#gone]) {
      if (!clock.isKilled && promotions !== demotions)
        this.#break(`${name} ended after ${promotions} promotions and ${demotions} demotions`);
    }
    this.#world.clock.stop();
    if (this.#broken.length > 0) throw new Error(this.#broken[0]);
  }

  /** Advances time in small steps, and checks after each step whose work goes on. */
  async #pass(durationMs: number): Promise<void> {
    const { clock } = this.#world;
    const untilMs = clock.monotonicMs() + durationMs;
    while (clock.monotonicMs() < untilMs) {
      await clock.run({ untilMs: Math.min(untilMs, clock.monotonicMs() + 20) });
      this.#checkWork();
    }
    if (this.#broken.length > 0) throw new Error(this.#broken[0]);
  }

  /** Two nodes may never act at the same time. */
  #look(): void {
    this.#looks += 1;
    this.#lookedAtMs = this.#world.clock.monotonicMs();
    const all = [...this.#processes, ...this.#gone].filter(({ clock }) => clock.isRunning);
    const leading = this.#random.shuffle(all).filter(({ election }) => election.isLeader());
    if (leading.length > 1) this.#break(`${leading.map(({ name }) => name).join(" and ")} lead at once`);
    for (const each of leading) {
      if (each.election.term() !== each.working)
        this.#break(`${each.name} leads a term that it does not work in`);
    }
  }

  /** No work of a lower term goes on once a higher term has begun. */
  #checkWork(): void {
    const nowMs = this.#world.clock.monotonicMs();
    const highest = Math.max(0, ...this.#promoted.keys());
    for (const { name, working, clock, wokeAtMs } of [...this.#processes, ...this.#gone]) {
      if (working === null || working === highest || !clock.isRunning) continue;
      if (nowMs - wokeAtMs > HEARTBEAT_MS / 0.99 + 1)
        this.#break(`the work of ${name} in term ${working} goes on in term ${highest}`);
    }
  }

  #act(one: Process): void {
    const { operator, clock } = this.#world;
    const random = this.#random;
    const nowMs = clock.monotonicMs();
    const acts: (() => void)[] = [
      () => this.#hold(one, "pause", random.between(50, 3000)),
      () => this.#hold(one, "suspend", random.between(50, 5000)),
      () => (one.plan.outageUntilMs = nowMs + random.between(100, 2500)),
      () => (one.plan.feedStalledUntilMs = nowMs + random.between(100, 2500)),
      () => one.store.breakFeeds(),
      () => Object.assign(one.plan, { answerMs: [0, random.pick([4, 140])] }),
      () => {
        const rate = random.chance(0.5) ? 0 : 0.2;
        Object.assign(one.plan, { lostAnswerRate: rate, lostRequestRate: rate, lateRate: rate });
      },
      () => (one.healthy = !one.healthy),
      () => one.election.resign(),
      () => this.#replace(one, "stop"),
      () => this.#replace(one, "kill"),
      () => void operator.stepDown({ groupId: "g", by: "op", banMs: random.int(0, 1000) }).catch(() => {}),
      () =>
        void operator
          .transfer({ groupId: "g", toNodeId: one.name, by: "op", timeoutMs: 2000 })
          .catch(() => {}),
      () => void operator.pause({ groupId: "g", forMs: 800 }).catch(() => {}),
    ];
    this.#acts += 1;
    random.pick(acts)();
  }

  #hold(one: Process, how: "pause" | "suspend", durationMs: number): void {
    const { clock } = this.#world;
    if (!one.clock.isRunning) return;
    if (how === "suspend" && clock.monotonicMs() - this.#lookedAtMs < SHARED_LOOK_MS) return;
    one.clock[how]();
    clock.after(durationMs, () => this.#wake(one));
  }

  #wake(one: Process): void {
    if (one.clock.isRunning || one.clock.isKilled) return;
    one.clock.resume();
    one.wokeAtMs = this.#world.clock.monotonicMs();
    // Its first action may be to call isLeader().
    if (this.#random.chance(0.5)) this.#look();
  }

  /** The process ends, and another starts under the same name. */
  #replace(one: Process, how: "stop" | "kill"): void {
    if (!one.clock.isRunning) return;
    if (how === "stop") one.stopped = one.election.stop({ resign: this.#random.chance(0.7) });
    else {
      one.clock.kill();
      one.store.abandon();
    }
    this.#gone.push(one);
    this.#processes[this.#processes.indexOf(one)] = this.#start(one.name);
  }

  #start(name: string): Process {
    const random = this.#random;
    const incarnation = (this.#incarnations += 1);
    let ids = 0;
    const distant = this.#world.distant(
      name,
      {
        bare: true,
        ttlMs: TTL_MS,
        heartbeatIntervalMs: random.pick([200, HEARTBEAT_MS]),
        healthChecker: () => process.healthy,
        campaignWaitMs: random.pick([0, 2000, 30_000]),
        takeoverDelayMs: random.pick([0, 0, 0, 400]),
        newId: () => `${name}-${incarnation}-${(ids += 1)}`,
        ...(this.#unruly ? this.#unrulyTelemetry(() => process) : {}),
      },
      {
        rate: random.between(0.99, 1.01),
        originMs: random.between(0, 1e6),
        wallOffsetMs: random.between(-1e9, 1e9),
        bootTickMs: random.pick([0, 10]),
      },
    );
    Object.assign(distant.plan, { requestMs: [0, 4], answerMs: [0, 4], feedMs: [0, 8], giveUpMs: [50, 150] });
    const process: Process = Object.assign(distant, {
      name,
      working: null,
      promoted: false,
      promotions: 0,
      demotions: 0,
      healthy: true,
      stopped: null,
      wokeAtMs: Number.NEGATIVE_INFINITY,
    });
    this.#observe(process);
    if (this.#unruly) this.#listen(process);
    distant.election.start().catch((error: unknown) => this.#break(`${name} has failed: ${String(error)}`));
    return process;
  }

  #observe(process: Process): void {
    const { election, clock, name } = process;
    election.onPromote(async ({ term }, signal) => {
      if (process.promoted) this.#break(`${name} is promoted twice in a row`);
      if (this.#promoted.has(term))
        this.#break(`term ${term} is promoted by ${this.#promoted.get(term)} and ${name}`);
      process.promoted = true;
      process.promotions += 1;
      this.#promoted.set(term, name);
      if (!signal.aborted) {
        process.working = term;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      }
      process.working = null;
      const windDownMs = this.#random.chance(0.2) ? 1500 : this.#random.between(0, 200);
      await new Promise<void>((resolve) => clock.after(windDownMs, resolve));
      process.promoted = false;
      if (this.#unruly && this.#random.chance(0.3)) throw new Error("unruly work");
    });
    election.onDemote(() => {
      process.demotions += 1;
      if (process.promoted) this.#break(`${name} is demoted while its work goes on`);
      if (process.demotions !== process.promotions)
        this.#break(`${name} is demoted ${process.demotions} times, promoted ${process.promotions} times`);
      if (this.#unruly && this.#random.chance(0.3)) throw new Error("unruly onDemote");
    });
  }

  #unrulyTelemetry(process: () => Process): Pick<ElectionOptions, "logger" | "metrics" | "tracer"> {
    const act = () => this.#misbehave(process());
    const names = Object.keys(NO_METRICS);
    const span = { addEvent: act, setAttribute: act, end: () => void act().catch(() => {}) };
    return {
      logger: Object.fromEntries(["debug", "info", "warn", "error"].map((name) => [name, act])) as never,
      metrics: Object.fromEntries(names.map((name) => [name, act])) as never,
      tracer: {
        startSpan: () => {
          act().catch(() => {});
          return span;
        },
      },
    };
  }

  #listen(process: Process): void {
    process.election.onLeaderChange(() => this.#misbehave(process));
  }

  #misbehave(process: Process): Promise<never> {
    const { election, clock } = process;
    const random = this.#random;
    if (this.#calm) throw new Error("unruly telemetry");
    if (clock.isRunning && random.chance(0.05)) this.#hold(process, "pause", random.between(10, 1500));
    if (random.chance(0.05)) election.resign({ standAgainAfterMs: random.int(100, 2000) });
    if (random.chance(0.02) && this.#processes.includes(process)) this.#replace(process, "stop");
    if (random.chance(0.3)) election.isLeader();
    if (random.chance(0.2)) return Promise.reject(new Error("unruly promise"));
    if (random.chance(0.3)) throw new Error("unruly telemetry");
    return new Promise(() => {});
  }

  #break(promise: string): void {
    this.#broken.push(`${promise}, at ${Math.round(this.#world.clock.monotonicMs())} ms`);
  }
}
