/** ZooKeeper's encoding: big-endian numbers, and texts and buffers with their length before them. */
const FIRST_CAPACITY = 256;
/** The most bytes of UTF-8 for one character of a JavaScript string. */
const MAX_CHARACTER_BYTES = 3;
/** The high half of a number below 2^53. */
const SAFE_HIGH = 0x20_0000;

/** Builds one frame, its length in front. */
export class JuteWriter {
  #buffer = Buffer.allocUnsafe(FIRST_CAPACITY);
  #length = 4;

  int(value: number): this {
    this.#room(4);
    this.#length = this.#buffer.writeInt32BE(value, this.#length);
    return this;
  }

  /** The only one that we ever send. */
  zeroLong(): this {
    return this.int(0).int(0);
  }

  flag(value: boolean): this {
    this.#room(1);
    this.#length = this.#buffer.writeUInt8(value ? 1 : 0, this.#length);
    return this;
  }

  /** A string or a buffer of text: both are the same on the wire. */
  text(value: string): this {
    this.#room(4 + MAX_CHARACTER_BYTES * value.length);
    const bytes = this.#buffer.write(value, this.#length + 4, "utf8");
    this.#buffer.writeInt32BE(bytes, this.#length);
    this.#length += 4 + bytes;
    return this;
  }

  frame(): Buffer {
    this.#buffer.writeInt32BE(this.#length - 4, 0);
    return this.#buffer.subarray(0, this.#length);
  }

  #room(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#buffer.length));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

/** Reads one frame, without its length. What it hands out are copies. Throws `RangeError` for what cannot be. */
export class JuteReader {
  readonly #buffer: Buffer;
  #offset = 0;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
  }

  int(): number {
    const value = this.#buffer.readInt32BE(this.#offset);
    this.#offset += 4;
    return value;
  }

  flag(): boolean {
    return this.#buffer.readUInt8(this.#offset++) !== 0;
  }

  /** A transaction's number: the epoch of its leader, which rises by one with each election, and a counter. */
  zxid(): number {
    const epoch = this.int();
    const counter = this.int() >>> 0;
    if (epoch >= SAFE_HIGH) {
      throw new RangeError(`epoch ${epoch} is too high: revisions are exact below ${SAFE_HIGH} only`);
    }
    return epoch * 2 ** 32 + counter;
  }

  /** A length of -1 is how ZooKeeper writes that there is none. */
  text(): string {
    const length = Math.max(0, this.int());
    const end = this.#offset + length;
    if (end > this.#buffer.length) throw new RangeError("a text goes beyond the end of its frame");
    const value = this.#buffer.toString("utf8", this.#offset, end);
    this.#offset = end;
    return value;
  }

  skip(bytes: number): this {
    this.#offset += bytes;
    return this;
  }
}
