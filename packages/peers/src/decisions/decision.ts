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
