/** A cost that must not grow with how many there are of something. */
export interface Cliff {
  readonly name: string;
  /** What is counted, in the singular. */
  readonly of: string;
  /** From the smallest to the largest. */
  readonly sizes: readonly number[];
  open(size: number): Promise<MeasuredSize>;
}

/** One size of it, in a process that measures nothing else. */
export interface MeasuredSize {
  /** All sizes do about as much in a round, so that their figures are equally certain. */
  round(): Promise<Figures>;
}

/** By name: µs of CPU time for one. */
export type Figures = Readonly<Record<string, number>>;
