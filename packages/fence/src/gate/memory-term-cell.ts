import { HighestTerms } from "@tenure/core/internal";
import type { TermCell } from "./term-cell.js";

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
