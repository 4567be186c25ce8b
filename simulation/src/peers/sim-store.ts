import { type CasOp, type CasOutcome, MemoryStore, type Store } from "@tenure/core";
import type { Gate, Random, VirtualClock } from "@tenure/core/testing";

/** What a node keeps besides its votes, over all its lives. A write that a crash interrupts has happened, or it has not. */
export class SimStore {
  readonly #store = new MemoryStore();
  readonly #time: VirtualClock;
  readonly #random: Random;
  readonly #slowRate: number;

  constructor(time: VirtualClock, random: Random, slowRate: number) {
    this.#time = time;
    this.#random = random;
    this.#slowRate = slowRate;
  }

  /** As one life of the node uses it. */
  mount(gate: Gate & { readonly isKilled: boolean }): Store {
    const store = this.#store;
    return {
      name: store.name,
      features: store.features,
      limits: store.limits,
      compareAndSet: (batch) => this.#write(batch, gate),
      sync: () => store.sync(),
      feed: (options) => store.feed(options),
      close: () => Promise.resolve(),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }

  #write(batch: readonly CasOp[], gate: Gate & { readonly isKilled: boolean }): Promise<CasOutcome[]> {
    if (gate.isKilled) return new Promise(() => {});
    if (!this.#random.chance(this.#slowRate)) return this.#store.compareAndSet(batch);
    const isKept = this.#random.chance(0.5);
    return new Promise((resolve) => {
      this.#time.after(this.#random.between(1, 40), () => {
        if (gate.isKilled && !isKept) return;
        void this.#store.compareAndSet(batch).then((outcomes) => gate.pass(() => resolve(outcomes)));
      });
    });
  }
}
