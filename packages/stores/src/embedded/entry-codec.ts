import { crc32 } from "node:zlib";

const CHECKSUM_BYTES = 4;

/**
 * A value as it lies on disk: a checksum over its key, its revision and itself, then its text. LMDB has no checksums,
 * and a record whose bits have turned could give a term out a second time.
 */
export function encodeValue(key: string, revision: number, value: string): Buffer {
  const bytes = Buffer.allocUnsafe(CHECKSUM_BYTES + Buffer.byteLength(value));
  bytes.write(value, CHECKSUM_BYTES);
  bytes.writeUInt32LE(checksum(key, revision, bytes), 0);
  return bytes;
}

/** `null` if the bytes are not what was written for that key and revision. */
export function decodeValue(key: string, revision: number, bytes: Buffer): string | null {
  // Revisions lie on disk as floating-point numbers, of which most are none.
  if (bytes.length < CHECKSUM_BYTES || !Number.isSafeInteger(revision) || revision <= 0) return null;
  const value = bytes.toString("utf8", CHECKSUM_BYTES);
  return bytes.readUInt32LE(0) === checksum(key, revision, Buffer.from(bytes)) ? value : null;
}

/** Overwrites the first four bytes. One pass of native code: this lies on the path of every renewal. */
function checksum(key: string, revision: number, bytes: Buffer): number {
  bytes.writeUInt32LE(revision % 0x1_0000_0000, 0);
  return crc32(bytes, seedOf(key));
}

function seedOf(key: string): number {
  let seed = key.length;
  for (let i = 0; i < key.length; i++) seed = Math.imul(seed, 31) + key.charCodeAt(i);
  return seed >>> 0;
}
