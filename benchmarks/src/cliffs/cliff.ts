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
  /**
   * Each size has equally many in all, in one elector or spread over several that are there at the same time: so caches and
   * the garbage collector cost each of them the same, and their figures are equally certain.
   */
  round(): Promise<Figures>;
}

/** By name: µs of CPU time for one. */
export type Figures = Readonly<Record<string, number>>;
