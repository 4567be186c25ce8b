/**
 * The hash chain of an audit file. Each line carries `seq` (from 1 without gaps), `prev` (the hash of the line before) and, last,
 * `hash`: SHA-256 over the line as it is written, without `,"hash":"…"`. So a line that was changed, removed, inserted or moved
 * does not fit the lines around it, and anybody can check that with a text editor and `sha256sum`.
 */
import { createHash } from "node:crypto";

/** The last line of a chain. */
export interface ChainHead {
  readonly seq: number;
  readonly hash: string;
}

export interface ChainLine extends ChainHead {
  readonly prev: string;
  /** Whether `hash` is the hash of the line. */
  readonly isIntact: boolean;
}

/** Before the first line: `prev` of a chain that continues nothing. */
export const GENESIS: ChainHead = Object.freeze({ seq: 0, hash: "0".repeat(64) });

const LINKS = /,"seq":(\d{1,15}),"prev":"([0-9a-f]{64})","hash":"([0-9a-f]{64})"\}$/;
const HASH_FIELD = /,"hash":"[0-9a-f]{64}"\}$/;

/** The line, without a line feed, that continues the chain with this JSON object. */
export function continueChain(
  object: string,
  { seq, hash: prev }: ChainHead,
): { line: string; head: ChainHead } {
  const unsigned = `${object.slice(0, -1)},"seq":${seq + 1},"prev":"${prev}"}`;
  const hash = sha256(unsigned);
  return { line: `${unsigned.slice(0, -1)},"hash":"${hash}"}`, head: { seq: seq + 1, hash } };
}

/** `null` if it is no line of a chain. */
export function readChainLine(line: string): ChainLine | null {
  const [, seq, prev, hash] = LINKS.exec(line) ?? [];
  if (seq === undefined || prev === undefined || hash === undefined) return null;
  return { seq: Number(seq), prev, hash, isIntact: sha256(line.replace(HASH_FIELD, "}")) === hash };
}

export function sha256(data: string | Buffer): string {
  return createHash("sha256").update(data).digest("hex");
}
