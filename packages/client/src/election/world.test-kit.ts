/** Elections in virtual time over one memory store: each process with clocks and an elector of its own. */
import { type Elector, MemoryStore, StoreElector } from "@tenure/core";
import { type ProcessClock, Random, VirtualClock } from "@tenure/core/testing";
import { Election } from "./election.js";
import type { ElectionOptions } from "./options.js";

export interface Participant {
  readonly election: Election;
  readonly clock: ProcessClock;
  readonly elector: Elector;
  /** What its hooks were told, in order. */
  readonly log: string[];
}

export class World {
  readonly clock: VirtualClock = new VirtualClock();
  readonly store: MemoryStore = new MemoryStore();
  readonly random: Random = new Random(1);
  readonly #electors: StoreElector[] = [];

  /** A process with an election for group g that logs what happens to it; not started yet. */
  participant(
    nodeId: string,
    options: Partial<ElectionOptions> = {},
    over?: (elector: Elector) => Elector,
  ): Participant {
    const clock = this.clock.process();
    const stored = StoreElector.open({ store: this.store, clock });
    this.#electors.push(stored);
    const elector = over?.(stored) ?? stored;
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
    election.onPromote(({ term }, signal) => {
      log.push(`promote ${term}`);
      signal.addEventListener("abort", () => log.push("abort"));
    });
    election.onDemote((reason) => log.push(`demote ${reason}`));
    return { election, clock, elector, log };
  }

  async close(): Promise<void> {
    const closed = Promise.all(this.#electors.map((each) => each.close()));
    await this.clock.advance(60_000);
    await closed;
  }
}
