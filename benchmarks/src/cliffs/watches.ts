/** Watches that are open at once: what it costs to open and to close each. */
import type { StoreElector, WatchEvent } from "@tenure/core";
import { type Cliff, collectGarbage, CpuTime, type Figures } from "./cliff.js";
import { electedGroups, groupAt } from "./elected-groups.js";
import { HandClock } from "./hand-clock.js";

const SIZES = [1000, 50_000] as const;
/** Watches in all. */
const WORK = 50_000;
/** Groups that are there for whoever watches all. */
const FEW_GROUPS = 10;
/** Watches that one connection carries: one signal ends them. */
const ON_ONE_CONNECTION = 1000;
const TTL_MS = 60_000;

type Open = (elector: StoreElector, index: number, signal: AbortSignal) => AsyncIterable<WatchEvent>;

const KINDS: Readonly<Record<string, Open>> = {
  "one group": (elector, _, signal) => elector.watch(groupAt(0), { signal }),
  "a group each": (elector, index, signal) => elector.watch(groupAt(index), { signal }),
  "all groups": (elector, _, signal) => elector.watchAll({ signal }),
};

export const watches: Cliff = {
  name: "watches",
  of: "watch that is open with all others",
  sizes: SIZES,
  async open(size) {
    const clock = new HandClock();
    const many: StoreElector[] = [];
    const few: StoreElector[] = [];
    for (let open = 0; open < WORK; open += size) {
      many.push((await electedGroups(size, clock, TTL_MS)).elector);
      few.push((await electedGroups(FEW_GROUPS, clock, TTL_MS)).elector);
    }
    return { round: () => round(size, clock, many, few) };
  },
};

async function round(
  size: number,
  clock: HandClock,
  many: readonly StoreElector[],
  few: readonly StoreElector[],
): Promise<Figures> {
  const figures: Record<string, number> = {};
  for (const [kind, open] of Object.entries(KINDS)) {
    const opening = new CpuTime();
    const returning = new CpuTime();
    const aborting = new CpuTime();
    const all = (kind === "a group each" ? many : few).map(
      (elector) => new Watches(elector, clock, size, open),
    );
    collectGarbage();
    for (const each of all) await opening.of(() => each.open());
    collectGarbage();
    for (const each of all) await returning.of(() => each.leave());
    for (const each of all) await each.open();
    collectGarbage();
    for (const each of all) await aborting.of(() => each.hangUp());
    figures[`to open, ${kind}`] = opening.us / WORK;
    figures[`to close, ${kind}`] = returning.us / WORK;
    figures[`to close by hanging up, ${kind}`] = aborting.us / WORK;
  }
  return figures;
}

class Watches {
  readonly #elector: StoreElector;
  readonly #clock: HandClock;
  readonly #size: number;
  readonly #open: Open;
  #connections: AbortController[] = [];
  #iterators: AsyncIterator<WatchEvent>[] = [];
  /** Each waits for an event that does not come. */
  #ended: Promise<"ended" | "event">[] = [];

  constructor(elector: StoreElector, clock: HandClock, size: number, open: Open) {
    this.#elector = elector;
    this.#clock = clock;
    this.#size = size;
    this.#open = open;
  }

  async open(): Promise<void> {
    this.#connections = [];
    this.#iterators = [];
    this.#ended = [];
    for (let index = 0; index < this.#size; index++) {
      if (index % ON_ONE_CONNECTION === 0) this.#connections.push(new AbortController());
      const { signal } = this.#connections.at(-1) as AbortController;
      const iterator = this.#open(this.#elector, index, signal)[Symbol.asyncIterator]();
      this.#iterators.push(iterator);
      this.#ended.push(follow(iterator));
    }
    await this.#clock.settled();
  }

  /** Those that came last go first: a list that is searched from its start shows its length. */
  async leave(): Promise<void> {
    await Promise.all(this.#iterators.toReversed().map(async (iterator) => iterator.return?.()));
    await this.#closed();
  }

  async hangUp(): Promise<void> {
    for (const connection of this.#connections.toReversed()) connection.abort();
    await this.#closed();
  }

  async #closed(): Promise<void> {
    const ends = await Promise.all(this.#ended);
    if (ends.includes("event")) throw new Error("a watch brought an event that did not happen");
    await this.#clock.settled();
  }
}

/** The present state first, then nothing until the end. */
async function follow(iterator: AsyncIterator<WatchEvent>): Promise<"ended" | "event"> {
  try {
    for (let more = await iterator.next(); more.done !== true; more = await iterator.next()) {
      if (more.value.term !== 1) return "event";
    }
    return "ended";
  } catch {
    return "ended";
  }
}
