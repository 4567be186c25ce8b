/** What goes wrong between one process and its store. The plan may be changed while it is in use. */
export interface FaultPlan {
  /** How long a request travels: minimum and maximum. */
  requestMs: readonly [number, number];
  answerMs: readonly [number, number];
  /** A write without an answer after this time is uncertain, and a sync has failed. */
  giveUpMs: readonly [number, number];
  /** How often an operation is refused without a conflicting write. */
  conflictRate: number;
  /** How often a request never arrives; its outcome is uncertain. */
  lostRequestRate: number;
  /** How often a request is carried out and its answer is lost; its outcome is uncertain. */
  lostAnswerRate: number;
  /** How often a request is uncertain and takes effect up to `lateMs` after it was sent. */
  lateRate: number;
  lateMs: number;
  /** How often the operations of one answered batch get different outcomes: some done, some refused, some uncertain. */
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
