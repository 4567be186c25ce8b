/** One server: a real elector over its own bad connection to the store, with its own clocks. */
import { sleep, type Store } from "@tenure/core";
import type { ServiceElector } from "@tenure/core/internal";
import type {
  FaultPlan,
  FaultyStore,
  ProcessClock,
  Random,
  StopPlan,
  VirtualClock,
} from "@tenure/core/testing";
import type { CoreModule } from "./core-module.js";

/** One run of a server, from start to crash. */
export interface ServerProcess {
  readonly clock: ProcessClock;
  readonly store: FaultyStore;
  readonly elector: ServiceElector;
  /** Calls back when this process is gone; returns the function that cancels it. */
  onCrash(callback: () => void): () => void;
}

export interface SimServerOptions {
  readonly name: string;
  readonly modules: CoreModule;
  readonly time: VirtualClock;
  readonly random: Random;
  readonly store: Store;
  readonly rate: number;
  readonly driftRatio: number;
  readonly stops: StopPlan | null;
  readonly explicitGroups: boolean;
  readonly keepMembers: boolean;
  readonly onClosed: (server: SimServer, tookMs: number) => void;
}

export class SimServer {
  readonly name: string;
  readonly plan: FaultPlan;
  /** Of all its lives. */
  readonly counts = { writes: 0, conflicts: 0, uncertain: 0, late: 0, syncs: 0, brokenFeeds: 0 };
  readonly #options: SimServerOptions;
  readonly #crashListeners = new Set<() => void>();
  #process: ServerProcess | null = null;
  #startedMs = 0;

  constructor(options: SimServerOptions) {
    this.name = options.name;
    this.plan = options.modules.testing.noFaults();
    this.#options = options;
  }

  /** `null` while it is down. */
  get process(): ServerProcess | null {
    return this.#process;
  }

  /** Whether its calls to the store went wrong since then, in this life or an earlier one. */
  isTroubledSince(trueMs: number): boolean {
    return this.#startedMs >= trueMs || (this.#process?.store.troubledAtMs ?? 0) >= trueMs;
  }

  start(): void {
    if (this.#process !== null) return;
    const { modules, time, random, store, rate, driftRatio, stops, explicitGroups, keepMembers } =
      this.#options;
    const clock = time.process({
      ...(stops === null ? {} : { stops: { plan: stops, random: random.fork() } }),
      rate,
      wallOffsetMs: random.between(-5000, 5000),
      originMs: random.between(0, 1e7),
      bootTickMs: 10,
    });
    const faulty = new modules.testing.FaultyStore({
      store,
      time,
      random: random.fork(),
      plan: this.plan,
      gate: clock,
    });
    this.#startedMs = time.monotonicMs();
    const draws = random.fork();
    const elector = modules.core.StoreElector.open({
      store: faulty,
      clock,
      random: () => draws.next(),
      driftRatio,
      explicitGroups,
      keepMembers,
    });
    this.#process = {
      clock,
      store: faulty,
      elector,
      onCrash: (callback) => {
        this.#crashListeners.add(callback);
        return () => this.#crashListeners.delete(callback);
      },
    };
  }

  /** Stopped at once: it is never called again, and what it has sent may still arrive. */
  crash(): void {
    const process = this.#process;
    if (process === null) return;
    this.#process = null;
    process.clock.kill();
    process.store.abandon();
    this.takeCounts(process);
    const listeners = [...this.#crashListeners];
    this.#crashListeners.clear();
    for (const listener of listeners) listener();
  }

  /** Like SIGTERM: it answers the requests that it has, and ends. Requests that arrive meanwhile are refused. */
  async close(): Promise<void> {
    const process = this.#process;
    if (process === null) return;
    const { time } = this.#options;
    const sinceMs = time.monotonicMs();
    await process.elector.close();
    await sleep(time, 1);
    if (this.#process !== process) return;
    this.#options.onClosed(this, time.monotonicMs() - sinceMs);
    this.crash();
  }

  takeCounts(process: ServerProcess): void {
    for (const key of Object.keys(this.counts) as (keyof typeof this.counts)[]) {
      this.counts[key] += process.store.counts[key];
    }
  }
}
