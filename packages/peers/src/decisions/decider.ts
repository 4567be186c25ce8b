/**
 * The coordinator's part of decisions: it makes one final at a majority of the electorate (`Consensus`), then makes
 * every registered resource manager apply it, including those that were away as soon as they are back (`Delivery`). A
 * new coordinator continues what the previous one has left. `CarryingOver` keeps decisions safe while the electorate
 * changes.
 */
import { sleep } from "@tenure/core";
import { unlessAborted } from "@tenure/core/internal";
import type { Configuration } from "../protocol/messages.js";
import { CarryingOver } from "./carrying-over.js";
import { Consensus, type ConsensusOptions, type MadeFinal } from "./consensus.js";
import type { Decision } from "./decision.js";
import type { DecisionCalls } from "./decision-calls.js";
import { Delivery, type DeliveryOptions } from "./delivery.js";
import { Holdings, openIn } from "./holdings.js";

export type { DecisionCalls, Heard, HeldQuestion } from "./decision-calls.js";

export interface DeciderOptions extends ConsensusOptions, DeliveryOptions {
  readonly self: { readonly identity: string; readonly endpoint: string };
  readonly calls: DecisionCalls;
  /** The endpoints of the active membership. */
  readonly members: () => readonly string[];
}

export type Settled =
  | { readonly kind: "final"; readonly decision: Decision; readonly pending: readonly string[] }
  | Exclude<MadeFinal, { kind: "final" }>;

export class Decider {
  readonly #options: DeciderOptions;
  readonly #consensus: Consensus;
  readonly #delivery: Delivery;
  readonly #holdings: Holdings;
  readonly #carryingOver: CarryingOver;
  #term = 0;
  #leading: Promise<void> = Promise.resolve();

  constructor(options: DeciderOptions) {
    this.#options = options;
    const { self, log } = options;
    this.#consensus = new Consensus(options);
    this.#delivery = new Delivery(options);
    this.#holdings = new Holdings(options);
    const [consensus, holdings] = [this.#consensus, this.#holdings];
    this.#carryingOver = new CarryingOver({ self, log, consensus, holdings });
  }

  /** Begins the term of office: finishes what is open, and keeps delivering until the signal aborts. */
  lead(term: number, signal: AbortSignal): void {
    this.#term = term;
    this.#carryingOver.begin();
    this.#leading = this.#leading.then(() => this.#run(term, signal));
  }

  async stopped(): Promise<void> {
    await this.#leading;
    await this.#carryingOver.settled();
  }

  /** Why the electorate may not change yet, `config` being the one that counts; `null` if it may. */
  holdStep(config: Configuration): string | null {
    return this.#carryingOver.holds(config, this.#term);
  }

  mayStep(config: Configuration): boolean {
    return this.holdStep(config) === null;
  }

  /** `wanted` counts only if nothing was decided before; `null` only asks. */
  async settle(txnId: string, wanted: Decision | null, term: number): Promise<Settled> {
    const made = await this.#consensus.makeFinal(txnId, wanted, term);
    if (made.kind !== "final") return made;
    const { decision } = made.record;
    return { kind: "final", decision, pending: await this.#delivery.deliver({ txnId, decision, term }) };
  }

  async #run(term: number, signal: AbortSignal): Promise<void> {
    const { clock, limitMs } = this.#options;
    this.#delivery.clear();
    while (!signal.aborted) {
      await unlessAborted(signal, this.#sweep(term, signal)).catch(() => {});
      await sleep(clock, limitMs, signal).catch(() => {});
    }
  }

  /** Finishes what any server has open, and informs the servers of what is done. */
  async #sweep(term: number, signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    const { found } = await this.#holdings.of(this.#everybody(), term, "open");
    const decisions = found.flatMap((each) => each.decisions);
    await log.take(decisions.filter(({ isFinal }) => isFinal));
    for (const { txnId, decision } of openIn(decisions)) {
      signal.throwIfAborted();
      await this.#consensus.makeFinal(txnId, decision, term);
    }
    await Promise.all(
      found.map(({ endpoint, decisions: held }) => {
        const known = held.flatMap(({ txnId }) => log.get(txnId) ?? []);
        const done = known.filter(({ doneForMs }) => doneForMs !== null);
        return this.#holdings.tell(endpoint, done, term).catch(() => {});
      }),
    );
    const away = new Set<string>();
    for (const { txnId, decision } of log.open()) {
      signal.throwIfAborted();
      const made = await this.#consensus.makeFinal(txnId, decision, term);
      if (made.kind === "final") await this.#delivery.deliver({ ...made.record, term }, away);
    }
  }

  #everybody(): ReadonlySet<string> {
    const { electorate, members } = this.#options;
    const electors = Object.values(electorate()?.members ?? {}).map(({ endpoint }) => endpoint);
    return new Set([...electors, ...members()]);
  }
}
