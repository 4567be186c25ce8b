/**
 * One pass over the B+trees of an LMDB data file, by plain reads. Every page must be where its parent says, of the
 * right kind, within the file and come to once; keys must be in order, or a write would end up on the wrong page; and
 * no page may be in use and free at once, or a write would go over it.
 */
import { readSync } from "node:fs";
import type { Steps } from "./slices.js";

/** Why a file cannot be used, in words that fit after its name. */
export class DataFileError extends Error {
  override readonly name = "DataFileError";
}

export interface Tree {
  readonly flags: number;
  readonly depth: number;
  readonly root: bigint;
  readonly entries: number;
}

export interface PageFile {
  readonly file: number;
  readonly bytes: number;
  readonly pageBytes: number;
  /** The highest page number in use; the file may be shorter if the last pages are free. */
  readonly lastPage: bigint;
  /** The last one. LMDB takes a page that bears a later one for a page of its own and writes to it where it lies. */
  readonly transaction: bigint;
}

const HEADER_BYTES = 24;
export const PAGE = { branch: 1, leaf: 2, overflow: 4, meta: 8 } as const;

const NO_ROOT = 0xffff_ffff_ffff_ffffn;
const FIRST_PAGE = 2n;
const DEEPEST = 64;
const NODE_BYTES = 8;
const NODE = { inline: 0, overflow: 1 } as const;
const OVERFLOW_REFERENCE_BYTES = 24;

type Compare = (a: Buffer, b: Buffer) => number;
type Visit = (key: Buffer, readValue: () => Buffer) => void;

/** Keys of a subtree are at or above `from` and below `to`; `null` is no bound. */
interface Subtree {
  readonly page: bigint;
  readonly depth: number;
  readonly from: Buffer | null;
  readonly to: Buffer | null;
}

export class PageWalk {
  readonly #source: PageFile;
  readonly #pages: number;
  readonly #visited: Uint8Array;

  constructor(source: PageFile) {
    this.#source = source;
    this.#pages = Math.floor(source.bytes / source.pageBytes);
    this.#visited = new Uint8Array(this.#pages);
  }

  *tree(tree: Tree, compare: Compare, visit: Visit): Steps<void> {
    if (tree.root === NO_ROOT) return;
    if (tree.depth === 0 || tree.depth > DEEPEST) throw damaged("its first pages");
    yield* this.#subtree({ page: tree.root, depth: tree.depth, from: null, to: null }, compare, visit);
  }

  /** A record of free pages: how many words follow, each a page, or the negative length of a run and then its first page. */
  freePages(record: Buffer): void {
    const words = record.length >= 8 ? record.readBigInt64LE(0) : -1n;
    if (words < 0n || 8n * (words + 1n) > BigInt(record.length)) throw damaged("its list of free pages");
    for (let i = 1; i <= Number(words); i++) {
      const word = record.readBigInt64LE(8 * i);
      if (word > 0n) this.#checkFree(word, 1n);
      else if (word < 0n && ++i <= Number(words)) this.#checkFree(record.readBigInt64LE(8 * i), -word);
    }
  }

  *#subtree(tree: Subtree, compare: Compare, visit: Visit): Steps<void> {
    this.#claim(tree.page, 1n);
    const isLeaf = tree.depth === 1;
    const page = this.#read(tree.page, this.#source.pageBytes, isLeaf ? PAGE.leaf : PAGE.branch);
    const nodes = nodesOf(page, tree.page);
    const keys = nodes.map((node) => keyOf(node, tree.page));
    // The first key of a branch is never looked at: everything below the second is there.
    if (!isInOrder(isLeaf ? keys : keys.slice(1), tree, compare)) throw damaged(`page ${tree.page}`);
    yield 1;
    for (const [i, node] of nodes.entries()) {
      const key = keys[i] as Buffer;
      if (isLeaf) {
        visit(key, this.#valueOf(node, tree.page));
      } else {
        const from = i === 0 ? tree.from : key;
        const to = keys[i + 1] ?? tree.to;
        yield* this.#subtree({ page: childOf(node), depth: tree.depth - 1, from, to }, compare, visit);
      }
    }
  }

  /** Checks where the value is; the returned function reads it. */
  #valueOf(node: Buffer, page: bigint): () => Buffer {
    const [bytes, flags, keyBytes] = [node.readUInt32LE(0), node.readUInt16LE(4), node.readUInt16LE(6)];
    const data = node.subarray(NODE_BYTES + keyBytes);
    if (flags === NODE.inline && bytes <= data.length) return () => data.subarray(0, bytes);
    if (flags !== NODE.overflow || data.length < OVERFLOW_REFERENCE_BYTES) throw damaged(`page ${page}`);
    const [first, transaction, count] = [0, 8, 16].map((at) => data.readBigUInt64LE(at)) as [
      bigint,
      bigint,
      bigint,
    ];
    this.#claim(first, count);
    const header = this.#read(first, HEADER_BYTES, PAGE.overflow);
    const room = Number(count) * this.#source.pageBytes - HEADER_BYTES;
    const isSound = BigInt(header.readUInt32LE(20)) === count && bytes <= room;
    if (!isSound || transaction > this.#source.transaction) throw damaged(`page ${first}`);
    return () => this.#read(first, HEADER_BYTES + bytes, PAGE.overflow).subarray(HEADER_BYTES);
  }

  #read(number: bigint, bytes: number, kind: number): Buffer {
    const page = readAt(this.#source.file, Number(number) * this.#source.pageBytes, bytes);
    const isItself = page.readBigUInt64LE(0) === number && page.readUInt16LE(18) === kind;
    if (!isItself || page.readBigUInt64LE(8) > this.#source.transaction) throw damaged(`page ${number}`);
    return page;
  }

  #claim(first: bigint, count: bigint): void {
    if (!this.#isPage(first, count)) throw damaged(`a pointer to page ${first}`);
    if (first + count > BigInt(this.#pages)) throw new DataFileError("is cut short");
    for (let page = Number(first); page < Number(first + count); page++) {
      if (this.#visited[page] !== 0) throw damaged(`two pointers to page ${page}`);
      this.#visited[page] = 1;
    }
  }

  #checkFree(first: bigint, count: bigint): void {
    if (!this.#isPage(first, count)) throw damaged("its list of free pages");
    for (let page = Number(first); page < Number(first + count); page++) {
      if (this.#visited[page] === 1) throw damaged(`page ${page}, which is in use and free at once`);
    }
  }

  #isPage(first: bigint, count: bigint): boolean {
    return first >= FIRST_PAGE && count > 0n && first + count - 1n <= this.#source.lastPage;
  }
}

export function readAt(file: number, position: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  if (readSync(file, buffer, 0, bytes, position) < bytes) throw new DataFileError("is cut short");
  return buffer;
}

function nodesOf(page: Buffer, number: bigint): Buffer[] {
  const [lower, upper] = [page.readUInt16LE(20), page.readUInt16LE(22)];
  if (lower % 2 !== 0 || lower > upper || upper > page.length - HEADER_BYTES) throw damaged(`page ${number}`);
  return Array.from({ length: lower / 2 }, (_, i) => {
    const offset = page.readUInt16LE(HEADER_BYTES + 2 * i);
    const node = page.subarray(HEADER_BYTES + offset);
    if (offset < upper || node.length < NODE_BYTES) throw damaged(`page ${number}`);
    return node;
  });
}

function isInOrder(keys: readonly Buffer[], { from, to }: Subtree, compare: Compare): boolean {
  const [first, last] = [keys[0], keys.at(-1)];
  if (first === undefined || last === undefined) return true;
  return (
    (from === null || compare(from, first) <= 0) &&
    (to === null || compare(last, to) < 0) &&
    keys.every((key, i) => i === 0 || compare(keys[i - 1] as Buffer, key) < 0)
  );
}

function childOf(node: Buffer): bigint {
  return BigInt(node.readUIntLE(0, 6));
}

function keyOf(node: Buffer, page: bigint): Buffer {
  const end = NODE_BYTES + node.readUInt16LE(6);
  if (end > node.length) throw damaged(`page ${page}`);
  return node.subarray(NODE_BYTES, end);
}

export function damaged(place: string): DataFileError {
  return new DataFileError(`is damaged: ${place}`);
}
