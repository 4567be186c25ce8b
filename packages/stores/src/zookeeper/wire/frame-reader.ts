/** Far above any answer to us: a length beyond it is no length, and the other side no ZooKeeper. */
const MAX_FRAME_BYTES = 256 * 1024 * 1024;

/** Cuts a stream of bytes into frames, which have their length before them. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #size = 0;
  /** How many bytes there must be for a look to be worth it. */
  #needed = 4;

  /** Calls `each` with every frame that is whole. Throws `RangeError` if this is no stream of frames. */
  push(chunk: Buffer, each: (frame: Buffer) => void): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size < this.#needed) return;
    const bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#size);
    let start = 0;
    for (;;) {
      this.#needed = 4;
      if (bytes.length - start < 4) break;
      const length = bytes.readInt32BE(start);
      if (length < 0 || length > MAX_FRAME_BYTES)
        throw new RangeError(`a frame of ${length} bytes is announced`);
      this.#needed = 4 + length;
      if (bytes.length - start < this.#needed) break;
      each(bytes.subarray(start + 4, start + this.#needed));
      start += this.#needed;
    }
    this.#chunks = start === bytes.length ? [] : [bytes.subarray(start)];
    this.#size = bytes.length - start;
  }
}
