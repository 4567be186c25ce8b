/** What goes wrong between one process and its store. Changed at will while it is in use. */
export interface FaultPlan {
  /** How long a request travels, from and to. */
  requestMs: readonly [number, number];
  answerMs: readonly [number, number];
  /** After so long without an answer a write is uncertain and a sync has failed. */
  giveUpMs: readonly [number, number];
  /** Refused though nobody else wrote. */
  conflictRate: number;
  /** Never arrives; the outcome is uncertain. */
  lostRequestRate: number;
  /** Is written; the outcome is uncertain. */
  lostAnswerRate: number;
  /** Uncertain, and written up to `lateMs` after it was sent. */
  lateRate: number;
  lateMs: number;
  /** How likely the operations of an answered batch fare differently: some done, some refused, some uncertain. */
  mixedRate: number;
  syncFailRate: number;
  /** Until this true time every call fails, mostly by a rejection, sometimes by silence. */
  outageUntilMs: number;
  /** How long a change travels to a feed. */
  feedMs: readonly [number, number];
  /** Until this true time feeds deliver nothing. */
  feedStalledUntilMs: number;
  /** How likely a superseded value is left out, where the superseding one is already on its way. */
  coalesceRate: number;
}

/** A store at its best: everything arrives, and at once. */
export function noFaults(): FaultPlan {
  return {
    requestMs: [0, 0],
    answerMs: [0, 0],
    giveUpMs: [100, 100],
    conflictRate: 0,
    lostRequestRate: 0,
    lostAnswerRate: 0,
    lateRate: 0,
    lateMs: 1500,
    mixedRate: 0,
    syncFailRate: 0,
    outageUntilMs: 0,
    feedMs: [0, 0],
    feedStalledUntilMs: 0,
    coalesceRate: 0,
  };
}
