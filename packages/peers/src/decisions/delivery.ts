/** Brings decisions to every registered resource manager; to those that were away, as soon as they are back. */
import type { Clock } from "@tenure/core";
import { within } from "@tenure/core/internal";
import type { TxnDecision } from "./decision.js";
import type { DecisionCalls } from "./decision-calls.js";
import type { DecisionLog } from "./decision-log.js";

export interface DeliveryOptions {
  readonly clock: Clock;
  readonly limitMs: number;
  readonly log: DecisionLog;
  readonly calls: Pick<DecisionCalls, "apply">;
  readonly resourceManagers: () => readonly string[];
  readonly onFailure: (endpoint: string, cause: unknown) => void;
}

export class Delivery {
  readonly #options: DeliveryOptions;
  /** By transaction: the resource managers that have applied it. */
  readonly #delivered = new Map<string, Set<string>>();

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /** From an earlier term of office: resource managers that applied something then are asked again, and confirm it. */
  clear(): void {
    this.#delivered.clear();
  }

  /**
   * Returns the resource managers that have not applied it yet. Those in `away` are not asked, and one that does not
   * answer is added.
   */
  async deliver(record: TxnDecision, away: Set<string> = new Set()): Promise<readonly string[]> {
    const { log, clock, limitMs, resourceManagers } = this.#options;
    const { txnId } = record;
    if ((log.get(txnId)?.doneForMs ?? null) !== null) return [];
    const delivered = this.#delivered.get(txnId) ?? new Set<string>();
    this.#delivered.set(txnId, delivered);
    const all = resourceManagers();
    await within(clock, { limitMs }, (signal) =>
      Promise.all(
        all
          .filter((endpoint) => !delivered.has(endpoint) && !away.has(endpoint))
          .map(async (endpoint) => {
            if (await this.#apply(endpoint, record, away, signal)) delivered.add(endpoint);
          }),
      ),
    );
    const pending = all.filter((endpoint) => !delivered.has(endpoint));
    // Without any resource manager the decision cannot be applied anywhere, so it stays open.
    if (pending.length > 0 || all.length === 0) return pending;
    // The others learn it at the next sweep, because they still have it open.
    await log.take([{ ...record, doneForMs: 0 }]);
    this.#delivered.delete(txnId);
    return [];
  }

  async #apply(
    endpoint: string,
    record: TxnDecision,
    away: Set<string>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { calls, onFailure } = this.#options;
    try {
      const applied = await calls.apply(endpoint, record, signal);
      if (applied.kind === "applied") return true;
      onFailure(
        endpoint,
        new Error(`${endpoint} refused to ${record.decision} ${record.txnId}: ${applied.kind}`),
      );
    } catch (cause) {
      away.add(endpoint);
      onFailure(endpoint, cause);
    }
    return false;
  }
}
