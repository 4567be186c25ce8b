import type { DiskContents, PeerDisk } from "@tenure/peers/protocol";
import type { Gate, Random, VirtualClock } from "@tenure/core/testing";

type Change = Parameters<PeerDisk["write"]>[0];

/** What is left of a node when it crashes. A write that a crash interrupts has happened, or it has not. */
export class SimDisk {
  readonly id: string;
  readonly #time: VirtualClock;
  readonly #random: Random;
  readonly #slowRate: number;
  readonly #onWrite: (change: Change) => void;
  #contents: DiskContents = { vote: null, config: null };

  constructor(options: {
    readonly id: string;
    readonly time: VirtualClock;
    readonly random: Random;
    /** How many of its writes let other things happen in between. */
    readonly slowRate: number;
    readonly onWrite: (change: Change) => void;
  }) {
    this.id = options.id;
    this.#time = options.time;
    this.#random = options.random;
    this.#slowRate = options.slowRate;
    this.#onWrite = options.onWrite;
  }

  get contents(): DiskContents {
    return this.#contents;
  }

  /** As one life of the node uses it. */
  mount(gate: Gate & { readonly isKilled: boolean }): PeerDisk {
    return {
      id: this.id,
      read: () => this.#contents,
      write: (change) => this.#write(change, gate),
    };
  }

  #write(change: Change, gate: Gate & { readonly isKilled: boolean }): Promise<void> {
    if (!this.#random.chance(this.#slowRate)) {
      this.#keep(change);
      return Promise.resolve();
    }
    const isKept = this.#random.chance(0.5);
    return new Promise((resolve) => {
      this.#time.after(this.#random.between(1, 40), () => {
        if (gate.isKilled && !isKept) return;
        this.#keep(change);
        gate.pass(resolve);
      });
    });
  }

  #keep(change: Change): void {
    this.#onWrite(change);
    this.#contents = { ...this.#contents, ...change };
  }
}
