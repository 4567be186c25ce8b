/** The resource manager of this server: it applies decisions, but never in a lower term than it has seen. */
import type { OwnRecords } from "../disk/own-records.js";
import { SerialQueue } from "../serial-queue.js";
import type { Remembered, TxnDecision } from "./decision.js";

/** What a program implements to be a resource. */
export interface Resource {
  /**
   * Carries the decision out. Called one at a time. It is called again with the same decision if the server ended
   * before it could record that it was done, or after an absence longer than decisions are kept. If it rejects, it is
   * called again later.
   */
  apply(decision: TxnDecision): Promise<void>;
}

export type Applied =
  | { readonly kind: "applied"; readonly changed: boolean }
  | { readonly kind: "stale"; readonly term: number }
  | { readonly kind: "conflict"; readonly decision: Remembered["decision"] };

const PREFIX = "applied/";
const TERM = "rm-term";

export class ResourceManager {
  readonly #records: OwnRecords;
  readonly #resource: Resource | null;
  readonly #queue = new SerialQueue();

  constructor(records: OwnRecords, resource: Resource | null) {
    this.#records = records;
    this.#resource = resource;
  }

  /** The highest term that it has seen; stored durably. */
  get term(): number {
    return (this.#records.get(TERM) as number | null) ?? 0;
  }

  applied(txnId: string): Remembered | null {
    return this.#records.get(PREFIX + txnId) as Remembered | null;
  }

  all(): Iterable<readonly [txnId: string, applied: Remembered]> {
    return this.#records.under(PREFIX) as Iterable<readonly [string, Remembered]>;
  }

  apply(asked: TxnDecision): Promise<Applied> {
    return this.#queue.run(() => this.#apply(asked));
  }

  /** Forgets these transactions as if they had never been; terms stay. */
  forget(txnIds: readonly string[]): Promise<void> {
    return this.#queue.run(() =>
      this.#records.put(Object.fromEntries(txnIds.map((txnId) => [PREFIX + txnId, null]))),
    );
  }

  async #apply(asked: TxnDecision): Promise<Applied> {
    const { txnId, decision, term } = asked;
    if (term < this.term) return { kind: "stale", term: this.term };
    // Before the act: after a crash during the act, no lower term may act either.
    if (term > this.term) await this.#records.put({ [TERM]: term });
    const before = this.applied(txnId);
    if (before !== null) {
      return before.decision === decision
        ? { kind: "applied", changed: false }
        : { kind: "conflict", decision: before.decision };
    }
    await this.#resource?.apply(asked);
    await this.#records.put({ [PREFIX + txnId]: { decision, term } satisfies Remembered });
    return { kind: "applied", changed: true };
  }
}
