import type { CallOptions } from "@tenure/core";
import { HighestTerms } from "@tenure/core/internal";

/**
 * The highest term of each group, kept where all who guard the same resource share it. Write your own over whatever
 * you have; three rules make it safe:
 *
 * - `raise` is one atomic step, as by compare-and-set: of two that overlap, one sees the other.
 * - What `raise` returned is durable. A cell that forgets lets a replaced leader in again.
 * - A term never falls. Where that cannot be known, reject: nobody is admitted then.
 */
export interface TermCell {
  /** The highest term ever raised to, 0 if there was none. Sees every `raise` that has returned before. */
  read(groupId: string, options?: CallOptions): Promise<number>;
  /** Raises to `term` if that is higher, and returns what is highest then: `term` itself, or more. */
  raise(groupId: string, term: number, options?: CallOptions): Promise<number>;
}

/**
 * Terms in the memory of one process, for a resource that ends with the process: a cache, a socket, a test. After a restart every
 * term is admitted again.
 */
export class MemoryTermCell implements TermCell {
  readonly #terms = new HighestTerms();

  async read(groupId: string): Promise<number> {
    return this.#terms.of(groupId);
  }

  async raise(groupId: string, term: number): Promise<number> {
    return this.#terms.raise(groupId, term);
  }
}
