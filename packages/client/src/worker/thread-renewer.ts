import type { Clock, Elector } from "@tenure/core";
import { LocalRenewer } from "../election/lease-renewer.js";
import { codeOf, messageOf } from "../election/retry.js";
import type { LeadOrder, TermMessage } from "./messages.js";
import { LAPSED, LED, NOT_LEADER, TermMemory } from "./term-memory.js";

export interface ThreadRenewerParts {
  readonly id: number;
  readonly order: LeadOrder;
  readonly elector: Elector;
  /** The machine's. */
  readonly clock: Clock;
  readonly random: () => number;
  readonly tell: (message: TermMessage) => void;
}

/**
 * In the thread that renews: the renewer of one term that another thread leads. It renews while that thread shows that
 * it is alive. It never resigns: work that has stalled has not ended.
 */
export class ThreadRenewer {
  readonly #parts: ThreadRenewerParts;
  readonly #memory: TermMemory;
  readonly #renewer: LocalRenewer;

  constructor(parts: ThreadRenewerParts) {
    const { id, order, elector, clock, random, tell } = parts;
    this.#parts = parts;
    this.#memory = new TermMemory(order.memory);
    this.#renewer = new LocalRenewer({
      ...order,
      elector,
      clock,
      random,
      mayRenew: () => Promise.resolve(this.#mayRenew()),
      renewed: (answer, seconds) => {
        this.#publish();
        tell({ kind: "renewed", id, answer, seconds });
      },
      notLeader: () => {
        this.#end(NOT_LEADER);
        tell({ kind: "not-leader", id });
      },
      failed: (error, seconds, repeated) => {
        const message = messageOf(error);
        tell({ kind: "failed", id, code: codeOf(error), message, seconds, repeated });
      },
      broken: (error) => tell({ kind: "broken", id, message: messageOf(error) }),
    });
  }

  start(): void {
    if (!this.#renewer.start()) this.#end(LAPSED);
  }

  stop(): void {
    this.#renewer.stop();
  }

  #mayRenew(): boolean {
    const { sign, state } = this.#memory;
    if (state !== LED) {
      this.stop();
      return false;
    }
    sign.read();
    const { clock, order } = this.#parts;
    const hasStalled = clock.monotonicMs() - sign.first >= order.stallLimitMs;
    if (hasStalled || !this.#renewer.lease.isInside()) {
      this.#end(LAPSED);
      return false;
    }
    return sign.second === 1;
  }

  #end(state: typeof LAPSED | typeof NOT_LEADER): void {
    this.#memory.end(state);
    this.stop();
  }

  /** Both clocks are read before the rest of the lease, so that neither deadline is later than the lease's own. */
  #publish(): void {
    const { clock } = this.#parts;
    const monotonicMs = clock.monotonicMs();
    const bootMs = clock.bootMs();
    const leftMs = this.#renewer.lease.leftMs();
    this.#memory.deadline.write(monotonicMs + leftMs, bootMs + leftMs);
  }
}
