export const DECISIONS = ["commit", "abort"] as const;
export type Decision = (typeof DECISIONS)[number];

/** What a server was asked to remember of a transaction, and in which term. */
export interface Remembered {
  readonly decision: Decision;
  readonly term: number;
}

export interface TxnDecision extends Remembered {
  readonly txnId: string;
}

/** What a server holds of a transaction. */
export interface HeldDecision extends TxnDecision {
  /** Known to be remembered by a majority, hence permanent. */
  readonly isFinal: boolean;
  /** How long it has been known that every resource manager has applied it; `null` if that is not known. */
  readonly doneForMs: number | null;
}
