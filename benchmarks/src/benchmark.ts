export interface Benchmark {
  readonly name: string;
  /** One line for `--help`. */
  readonly about: string;
  /** The engine that it is about, for `--store`. */
  readonly store?: string;
  /** Prints its table. A missed target is a line in it; only where `run` returns `missed` does the command fail. */
  run(): Promise<void | "met" | "missed">;
}
