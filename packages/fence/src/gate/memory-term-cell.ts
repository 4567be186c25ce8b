import type { TermCell } from "./term-cell.js";

/**
 * In the memory of one process, for a resource that ends with it: a cache, a socket, a test. After a restart every term
 * is admitted again.
 */
export class MemoryTermCell implements TermCell {
  readonly #highest = new Map<string, number>();

  async read(groupId: string): Promise<number> {
    return this.#highest.get(groupId) ?? 0;
  }

  async raise(groupId: string, term: number): Promise<number> {
    const highest = Math.max(term, this.#highest.get(groupId) ?? 0);
    this.#highest.set(groupId, highest);
    return highest;
  }
}
