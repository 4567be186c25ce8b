/**
 * Looks at an LMDB data file with plain reads, before anything maps it. LMDB trusts its file: a missing page is a
 * SIGBUS, a pointer gone astray a SIGSEGV, and either takes the whole process along.
 *
 * The layout is that of LMDB's data version 2 on a little-endian machine, which is what the `lmdb` package writes.
 */
import { closeSync, fstatSync, openSync } from "node:fs";
import { damaged, DataFileError, PAGE, PageWalk, readAt, type Tree } from "./page-walk.js";
import type { Steps } from "./slices.js";

/** What the newer of the two meta pages says. */
export interface DataFileHead {
  /** Rises with every transaction. */
  readonly transaction: number;
  readonly entries: number;
}

const FOREIGN = "is damaged, or was written by another program";
const MAGIC = 0xbeefc0de;
const DATA_VERSION = 2;
const META_BYTES = 168;
/** Free pages are listed by the number of a transaction; entries have versions, which is a flag of the package. */
const FLAGS = { free: 0x08, main: 0x100, newMain: 0 } as const;
/** Free pages at the end may never have been written, but no more than one transaction can have. */
const UNWRITTEN_PAGES = 2n ** 20n;

interface Meta {
  readonly pageBytes: number;
  readonly lastPage: bigint;
  readonly transaction: number;
  readonly free: Tree;
  readonly main: Tree;
}

/** The first pages, which LMDB believes as soon as it opens the file. They are sound no matter who writes meanwhile. */
export function readHead(path: string): DataFileHead {
  const file = openSync(path, "r");
  try {
    const meta = readMeta(file);
    return { transaction: meta.transaction, entries: meta.main.entries };
  } finally {
    closeSync(file);
  }
}

/** Checks the whole file, page by page; `true` if entries have versions and `key` is one. Nothing may write meanwhile. */
export function* verify(path: string, key: Buffer): Steps<boolean> {
  const file = openSync(path, "r");
  try {
    return yield* verifyFile(file, key);
  } finally {
    closeSync(file);
  }
}

function* verifyFile(file: number, key: Buffer): Steps<boolean> {
  const { pageBytes, lastPage, transaction, main, free } = readMeta(file);
  const bytes = fstatSync(file).size;
  const walk = new PageWalk({ file, bytes, pageBytes, lastPage, transaction: BigInt(transaction) });
  let entries = 0;
  let isFound = false;
  yield* walk.tree(
    main,
    (a, b) => a.compare(b),
    (each) => {
      entries++;
      isFound ||= each.equals(key);
    },
  );
  if (entries !== main.entries) throw damaged(`${entries} of ${main.entries} entries are left`);
  const records: (() => Buffer)[] = [];
  yield* walk.tree(free, compareTransactions, (_, readValue) => records.push(readValue));
  for (const readRecord of records) {
    walk.freePages(readRecord());
    yield 1;
  }
  return isFound && main.flags === FLAGS.main;
}

function compareTransactions(a: Buffer, b: Buffer): number {
  if (a.length !== 8 || b.length !== 8) throw damaged("its list of free pages");
  return Number(a.readBigUInt64LE() - b.readBigUInt64LE());
}

/** Transactions write the two pages by turns, so that their numbers are neighbours, the even one in the first. */
function readMeta(file: number): Meta {
  let [first, second] = readMetaPages(file);
  for (
    let seen = -1;
    !areNeighbours(first.transaction, second.transaction);
    [first, second] = readMetaPages(file)
  ) {
    // Somebody may have written between the one and the other; then they have moved when we look again.
    if (seen === first.transaction + second.transaction) throw damaged("its first pages");
    seen = first.transaction + second.transaction;
  }
  const newer = first.transaction > second.transaction ? first : second;
  const written = BigInt(Math.ceil(fstatSync(file).size / newer.pageBytes));
  if (newer.lastPage > written + UNWRITTEN_PAGES) throw damaged("its first pages");
  return newer;
}

function readMetaPages(file: number): [Meta, Meta] {
  const first = parseMeta(readAt(file, 0, META_BYTES), 0n);
  const second = parseMeta(readAt(file, first.pageBytes, META_BYTES), 1n);
  if (first.pageBytes !== second.pageBytes) throw damaged("its first pages");
  return [first, second];
}

function areNeighbours(first: number, second: number): boolean {
  const areNew = first === 0 && second === 0;
  return areNew || (first % 2 === 0 && Math.abs(first - second) === 1);
}

function parseMeta(page: Buffer, number: bigint): Meta {
  const isMeta = page.readBigUInt64LE(0) === number && page.readUInt16LE(18) === PAGE.meta;
  if (!isMeta || page.readUInt32LE(24) !== MAGIC) throw new DataFileError(FOREIGN);
  const version = page.readUInt32LE(28) & 0xffff;
  if (version !== DATA_VERSION)
    throw new DataFileError(`is of LMDB's data version ${version}, not ${DATA_VERSION}`);
  const pageBytes = page.readUInt32LE(48);
  const isPowerOfTwo = (pageBytes & (pageBytes - 1)) === 0;
  if (pageBytes < 512 || pageBytes > 65_536 || !isPowerOfTwo) throw damaged("its first pages");
  const [free, main] = [parseTree(page, 48), parseTree(page, 96)];
  const isPlain = free.flags === FLAGS.free && (main.flags === FLAGS.main || main.flags === FLAGS.newMain);
  if (!isPlain) throw new DataFileError(FOREIGN);
  const [lastPage, transaction] = [page.readBigUInt64LE(144), Number(page.readBigUInt64LE(152))];
  return { pageBytes, lastPage, transaction, free, main };
}

function parseTree(page: Buffer, offset: number): Tree {
  return {
    flags: page.readUInt16LE(offset + 4),
    depth: page.readUInt16LE(offset + 6),
    entries: Number(page.readBigUInt64LE(offset + 32)),
    root: page.readBigUInt64LE(offset + 40),
  };
}
