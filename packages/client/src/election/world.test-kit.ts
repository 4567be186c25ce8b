/** Elections in virtual time over one memory store; each process has its own clocks and elector. */
import { type Elector, type ElectorAdmin, MemoryStore, StoreElector } from "@tenure/core";
import {
  type FaultPlan,
  FaultyStore,
  noFaults,
  type ProcessClock,
  type ProcessClockOptions,
  Random,
  VirtualClock,
} from "@tenure/core/testing";
import { Election } from "./election.js";
import type { ElectionOptions } from "./options.js";
import { ScriptedElector } from "./scripted-elector.test-kit.js";

/** `bare`: without hooks, for a test that sets its own. */
export type Setup = Partial<ElectionOptions> & { readonly bare?: boolean };

export interface Participant {
  readonly election: Election;
  readonly clock: ProcessClock;
  readonly elector: Elector;
  /** The calls of its hooks, in order. */
  readonly log: string[];
}

export interface Scripted extends Participant {
  readonly elector: ScriptedElector;
}

export interface Distant extends Participant {
  /** The faults between this process and the store. */
  readonly plan: FaultPlan;
  readonly store: FaultyStore;
}

export class World {
  readonly clock: VirtualClock = new VirtualClock();
  readonly store: MemoryStore = new MemoryStore();
  readonly random: Random;
  readonly #electors: { readonly elector: StoreElector; readonly clock: ProcessClock }[] = [];
  #operator: StoreElector | null = null;

  constructor(seed = 1) {
    this.random = new Random(seed);
  }

  /** A process with an election for group g that logs what happens to it; not yet started. */
  participant(nodeId: string, options: Setup = {}, over?: (elector: Elector) => Elector): Participant {
    const clock = this.clock.process();
    const stored = this.#open(clock, this.store);
    return this.#participant(nodeId, options, clock, over?.(stored) ?? stored);
  }

  /** Over the store, for a test that closes it. */
  elector(): StoreElector {
    return this.#open(this.clock.process(), this.store);
  }

  /** Over an elector with scripted failures. */
  scripted(nodeId: string, options: Setup = {}): Scripted {
    const clock = this.clock.process();
    const elector = new ScriptedElector(this.#open(clock, this.store), clock);
    return { ...this.#participant(nodeId, options, clock, elector), elector };
  }

  /** With its own network and clocks: while it is paused, nothing reaches it. */
  distant(nodeId: string, options: Setup = {}, clocks: ProcessClockOptions = {}): Distant {
    const clock = this.clock.process(clocks);
    const plan = noFaults();
    const store = new FaultyStore({
      store: this.store,
      time: this.clock,
      random: this.random.fork(),
      plan,
      gate: clock,
    });
    return { ...this.#participant(nodeId, options, clock, this.#open(clock, store)), plan, store };
  }

  /** An operator, who acts on the group and is not a candidate. */
  get operator(): ElectorAdmin {
    this.#operator ??= this.#open(this.clock.process(), this.store);
    return this.#operator;
  }

  /** Runs virtual time until `work` has settled, and returns its result and how long that took. */
  async until<T>(
    work: Promise<T>,
    limitMs = 120_000,
  ): Promise<{ readonly value: T; readonly tookMs: number }> {
    const startMs = this.clock.monotonicMs();
    let settledAtMs: number | null = null;
    const settle = () => {
      settledAtMs = this.clock.monotonicMs();
    };
    work.then(settle, settle);
    await this.clock.advance(0);
    while (settledAtMs === null) {
      if (this.clock.monotonicMs() - startMs > limitMs) throw new Error(`not settled after ${limitMs} ms`);
      await this.clock.advance(1);
    }
    return { value: await work, tookMs: settledAtMs - startMs };
  }

  async close(): Promise<void> {
    const alive = this.#electors.filter(({ clock }) => !clock.isKilled);
    const closed = Promise.all(alive.map(({ elector }) => elector.close()));
    await this.clock.advance(60_000);
    await closed;
  }

  #open(clock: ProcessClock, store: FaultyStore | MemoryStore): StoreElector {
    const elector = StoreElector.open({ store, clock, random: () => this.random.next() });
    this.#electors.push({ elector, clock });
    return elector;
  }

  #participant(
    nodeId: string,
    { bare = false, ...options }: Setup,
    clock: ProcessClock,
    elector: Elector,
  ): Participant {
    const log: string[] = [];
    let ids = 0;
    const election = new Election(elector, {
      groupId: "g",
      nodeId,
      ttlMs: 1000,
      clock,
      random: () => this.random.next(),
      newId: () => `${nodeId}-${(ids += 1)}`,
      ...options,
    });
    if (!bare) {
      election.onPromote(({ term }, signal) => {
        log.push(`promote ${term}`);
        signal.addEventListener("abort", () => log.push("abort"));
      });
      election.onDemote((reason) => log.push(`demote ${reason}`));
    }
    return { election, clock, elector, log };
  }
}

/** The reason with which a promise was rejected. The handler is attached at once, so no rejection is unhandled. */
export function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    (value) => new Error(`it was not rejected: ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
}

/** A promise and its resolver. */
export function gate(): { readonly opened: Promise<void>; open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
