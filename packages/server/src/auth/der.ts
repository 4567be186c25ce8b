/** As much of DER as certificates and revocation lists need: elements, one after the other. */

export interface DerElement {
  readonly tag: number;
  readonly content: Buffer;
  /** With tag and length. */
  readonly whole: Buffer;
}

/** Throws if the bytes are not elements to the last one. */
export function* derElements(bytes: Buffer): Generator<DerElement, void> {
  for (let at = 0; at < bytes.length;) {
    const tag = bytes.readUInt8(at);
    const first = bytes.readUInt8(at + 1);
    const more = first < 0x80 ? 0 : first - 0x80;
    // An open end (0x80) is not DER, and nothing here is longer than 4 bytes can say.
    if (first === 0x80 || more > 4) throw new RangeError("a length is not DER");
    const length = more === 0 ? first : bytes.readUIntBE(at + 2, more);
    const start = at + 2 + more;
    const end = start + length;
    if (end > bytes.length) throw new RangeError("an element is cut short");
    yield { tag, content: bytes.subarray(start, end), whole: bytes.subarray(at, end) };
    at = end;
  }
}

/** The elements inside the one element that the bytes are. */
export function derSequence(bytes: Buffer): DerElement[] {
  const [outer] = derElements(bytes);
  if (outer?.tag !== DER.sequence) throw new RangeError("this is not a sequence");
  return [...derElements(outer.content)];
}

export const DER = { integer: 0x02, sequence: 0x30, utcTime: 0x17, generalizedTime: 0x18 } as const;
