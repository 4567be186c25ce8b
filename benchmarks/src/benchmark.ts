export interface Benchmark {
  readonly name: string;
  /** One line for `--help`. */
  readonly about: string;
  /** The engine that it is about, for `--store`. */
  readonly store?: string;
  /** Prints its table. A target that is missed is a line in it, not a failure. */
  run(): Promise<void>;
}
