export const DECISIONS = ["commit", "abort"] as const;
export type Decision = (typeof DECISIONS)[number];

/** What a server has been asked to remember of a transaction, and in which term. */
export interface Remembered {
  readonly decision: Decision;
  readonly term: number;
}

export interface TxnDecision extends Remembered {
  readonly txnId: string;
}

/** What a server holds of a transaction. */
export interface HeldDecision extends TxnDecision {
  /** Known to be remembered by a majority, so for good. */
  readonly isFinal: boolean;
  /** For how long it is known to be applied by every resource manager; `null` if it is not. */
  readonly doneForMs: number | null;
}
