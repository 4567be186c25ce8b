/**
 * Ids in order, for range queries: sorted chunks of bounded size, so that adding, removing and finding one take two binary
 * searches and a move within one chunk, however many ids there are.
 */
const MAX_CHUNK = 512;

export class SortedIds {
  readonly #maxChunk: number;
  /** None is empty; every id of a chunk is below every id of the next. */
  readonly #chunks: string[][] = [];

  constructor(maxChunk: number = MAX_CHUNK) {
    this.#maxChunk = maxChunk;
  }

  add(id: string): void {
    const chunkIndex = this.#chunkOf(id);
    const chunk = this.#chunks[chunkIndex];
    if (chunk === undefined) {
      this.#chunks.push([id]);
      return;
    }
    const index = lowerBound(chunk, id);
    if (chunk[index] === id) return;
    chunk.splice(index, 0, id);
    if (chunk.length > this.#maxChunk)
      this.#chunks.splice(chunkIndex + 1, 0, chunk.splice(chunk.length >> 1));
  }

  delete(id: string): void {
    const chunkIndex = this.#chunkOf(id);
    const chunk = this.#chunks[chunkIndex];
    const index = chunk === undefined ? 0 : lowerBound(chunk, id);
    if (chunk?.[index] !== id) return;
    chunk.splice(index, 1);
    if (chunk.length === 0) this.#chunks.splice(chunkIndex, 1);
  }

  /** The first `count` ids after `place`, or from it on. */
  from(place: string, inclusive: boolean, count: number): readonly string[] {
    const found: string[] = [];
    const first = this.#chunkOf(place);
    for (let chunkIndex = first; chunkIndex < this.#chunks.length && found.length < count; chunkIndex++) {
      const chunk = this.#chunks[chunkIndex] as string[];
      let index = chunkIndex === first ? lowerBound(chunk, place) : 0;
      if (!inclusive && chunk[index] === place) index++;
      found.push(...chunk.slice(index, index + count - found.length));
    }
    return found;
  }

  /** The last chunk that begins at or before `id`, else the first one. */
  #chunkOf(id: string): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (((this.#chunks[middle] as string[])[0] as string) <= id) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }
}

/** The index of the first id that is not below `id`. */
function lowerBound(chunk: readonly string[], id: string): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((chunk[middle] as string) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
