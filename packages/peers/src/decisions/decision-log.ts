/**
 * What this server remembers of decisions, in its own store. A decision is final once a majority of the electorate
 * remembers it in one term. A coordinator first has a majority promise to obey no lower term, and learns what they
 * remember: so whatever one coordinator has made final, every later one finds.
 */
import type { OwnRecords } from "../disk/own-records.js";
import type { Remembered, TxnDecision } from "./decision.js";

interface Stored extends Remembered {
  /** Known to be remembered by a majority. */
  readonly isFinal?: true;
  /** Applied by every resource manager: nobody has to be told any more. */
  readonly isDone?: true;
}

export type Promised =
  | { readonly kind: "promised"; readonly remembered: Remembered | null }
  | { readonly kind: "stale"; readonly term: number };

const PREFIX = "decisions/";
const TERM = "decided-term";

export class DecisionLog {
  readonly #records: OwnRecords;
  /** What this server's resource manager has applied: only what is final is. */
  readonly #applied: (txnId: string) => Remembered | null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(records: OwnRecords, applied: (txnId: string) => Remembered | null) {
    this.#records = records;
    this.#applied = applied;
  }

  /** The highest term that it has promised to obey. */
  get term(): number {
    return (this.#records.get(TERM) as number | null) ?? 0;
  }

  get(txnId: string): Stored | null {
    return this.#records.get(PREFIX + txnId) as Stored | null;
  }

  /** Decisions that somebody may still have to be told of. */
  open(): readonly TxnDecision[] {
    return [...this.#records.under(PREFIX)].flatMap(([txnId, value]) => {
      const { decision, term, isDone } = value as Stored;
      return isDone === true ? [] : [{ txnId, decision, term }];
    });
  }

  prepare(txnId: string, term: number): Promise<Promised> {
    return this.#inTurn(async () => {
      if (term < this.term) return { kind: "stale", term: this.term };
      if (term > this.term) await this.#records.put({ [TERM]: term });
      const known = this.get(txnId) ?? this.#applied(txnId);
      return {
        kind: "promised",
        remembered: known === null ? null : { decision: known.decision, term: known.term },
      };
    });
  }

  remember({ txnId, decision, term }: TxnDecision): Promise<Promised> {
    return this.#inTurn(async () => {
      if (term < this.term) return { kind: "stale", term: this.term };
      const stored = this.get(txnId);
      const next: Stored = { ...stored, decision, term };
      await this.#records.put({ [PREFIX + txnId]: next, ...(term > this.term ? { [TERM]: term } : {}) });
      return { kind: "promised", remembered: { decision, term } };
    });
  }

  /** Only of what is final: whatever else was remembered has lost. */
  mark(txnId: string, decision: Remembered["decision"], mark: "isFinal" | "isDone"): Promise<void> {
    return this.#inTurn(async () => {
      const stored = this.get(txnId);
      if (stored?.[mark] === true && stored.decision === decision) return;
      const next: Stored = { term: 0, ...stored, decision, isFinal: true, [mark]: true };
      await this.#records.put({ [PREFIX + txnId]: next });
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }
}
