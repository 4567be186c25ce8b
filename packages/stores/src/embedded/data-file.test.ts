/** Damage that random tests rarely hit: each check separately, on a file with a known layout. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { readHead, verify } from "./data-file.js";
import { EmbeddedStore } from "./embedded-store.js";
import { DataFileError } from "./page-walk.js";

const PAGE = 4096;
const HEADER = 24;
const HEAD = Buffer.from("\0tenure");

let root = "";
let sound: Buffer;
let bytes: Buffer;
/** The offset of the newer meta page, and of the pages that it refers to. */
let meta = 0;
let branch = 0;
let leaf = 0;
let overflow = 0;
let freeLeaf = 0;

const file = () => join(root, "copy.mdb");
const rootPage = (tree: "free" | "main") =>
  Number(bytes.readBigUInt64LE(meta + (tree === "free" ? 88 : 136))) * PAGE;
const nodeAt = (page: number, i: number) => page + HEADER + bytes.readUInt16LE(page + HEADER + 2 * i);
/** Runs to the end without yielding. */
const verifyAll = (key: Buffer) => {
  const steps = verify(file(), key);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
};
const check = () => {
  writeFileSync(file(), bytes);
  return verifyAll(HEAD);
};

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "tenure-data-file-"));
  const directory = join(root, "store");
  const store = await EmbeddedStore.open({ directory });
  const keys = Array.from({ length: 500 }, (_, i) => `r/${String(i).padStart(3, "0")}`);
  await store.compareAndSet(keys.map((key) => ({ key, expected: null, value: "x".repeat(100) })));
  await store.compareAndSet([{ key: "r/000", expected: 1, value: "x".repeat(9000) }]);
  await store.close();
  sound = readFileSync(join(directory, "data.mdb"));
});
beforeEach(() => {
  bytes = Buffer.from(sound);
  meta = bytes.readBigUInt64LE(152) > bytes.readBigUInt64LE(PAGE + 152) ? 0 : PAGE;
  branch = rootPage("main");
  leaf = bytes.readUIntLE(nodeAt(branch, 0), 6) * PAGE;
  // In the first leaf: the head, then r/000, whose value lies on its own pages.
  const node = nodeAt(leaf, 1);
  overflow = Number(bytes.readBigUInt64LE(node + 8 + bytes.readUInt16LE(node + 6))) * PAGE;
  freeLeaf = rootPage("free");
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("an undamaged data file passes the check, and its content is found", () => {
  expect(check()).toBe(true);
  expect(verifyAll(Buffer.from("another key"))).toBe(false);
  const { entries, transaction } = readHead(file());
  expect(entries).toBe(501);
  expect(transaction).toBeGreaterThan(2);
});

describe("damage that LMDB would accept", () => {
  test.each<readonly [string, () => void]>([
    ["a first page of another size", () => bytes.writeUInt32LE(8192, 48)],
    ["an invalid page size", () => bytes.writeUInt32LE(0, 48)],
    [
      "an older state that claims to be the newer",
      () => bytes.writeBigUInt64LE(1000n, (meta === 0 ? PAGE : 0) + 152),
    ],
    [
      "states that do not alternate",
      () => bytes.writeBigUInt64LE(bytes.readBigUInt64LE(meta + 152) + 2n, meta + 152),
    ],
    ["a file of petabytes", () => bytes.writeBigUInt64LE(2n ** 42n, meta + 144)],
    ["keys in another order", () => bytes.writeUInt16LE(4, meta + 100)],
    ["a tree that is too deep", () => bytes.writeUInt16LE(3, meta + 102)],
    ["a tree without depth", () => bytes.writeUInt16LE(0, meta + 102)],
    ["more entries than there are", () => bytes.writeBigUInt64LE(502n, meta + 128)],
    ["a root beyond the end", () => bytes.writeBigUInt64LE(10_000n, meta + 136)],
    ["a root on the first pages", () => bytes.writeBigUInt64LE(1n, meta + 136)],
    ["a page with another number", () => bytes.writeBigUInt64LE(3n, leaf)],
    ["a page of a later transaction", () => bytes.writeBigUInt64LE(2n ** 40n, leaf + 8)],
    ["a page of another kind", () => bytes.writeUInt16LE(4, leaf + 18)],
    ["more nodes than fit", () => bytes.writeUInt16LE(4094, leaf + 20)],
    ["an odd number of nodes", () => bytes.writeUInt16LE(bytes.readUInt16LE(leaf + 20) - 1, leaf + 20)],
    ["a node outside of its page", () => bytes.writeUInt16LE(4090, leaf + HEADER)],
    ["a node in the list of nodes", () => bytes.writeUInt16LE(2, leaf + HEADER)],
    ["a key longer than its page", () => bytes.writeUInt16LE(5000, nodeAt(leaf, 2) + 6)],
    ["a value longer than its page", () => bytes.writeUInt32LE(5000, nodeAt(leaf, 2))],
    ["a value of a kind we never write", () => bytes.writeUInt16LE(2, nodeAt(leaf, 2) + 4)],
    ["a value longer than its own pages", () => bytes.writeUInt32LE(20_000, nodeAt(leaf, 1))],
    ["own pages of another length", () => bytes.writeUInt32LE(2, overflow + 20)],
    ["own pages of a later transaction", () => bytes.writeBigUInt64LE(2n ** 40n, overflow + 8)],
    ["leaf keys out of order", () => swapPointers(leaf, 3, 4)],
    ["a branch out of order", () => swapPointers(branch, 1, 2)],
    ["a branch that leads past its keys", () => raiseKey(branch, 1)],
    [
      "two ways to one page",
      () => bytes.copy(bytes, nodeAt(branch, 1), nodeAt(branch, 0), nodeAt(branch, 0) + 6),
    ],
    ["a page that is in use and free", () => setFreePage(BigInt(leaf / PAGE))],
    ["a free page on the first pages", () => setFreePage(1n)],
    ["a free page beyond the last", () => setFreePage(10_000n)],
    ["a list of free pages longer than itself", () => bytes.writeBigInt64LE(10_000n, freeRecord())],
    ["a list of free pages under a name", () => bytes.writeUInt16LE(4, nodeAt(freeLeaf, 0) + 6)],
  ])("a data file is refused with %s", (_, damage) => {
    damage();
    expect(check).toThrow(DataFileError);
  });
});

test("a data file that ends where only free pages follow is complete", () => {
  bytes.writeBigUInt64LE(BigInt(sound.length / PAGE) + 5n, meta + 144);
  expect(check()).toBe(true);
});

function swapPointers(page: number, i: number, j: number): void {
  const [a, b] = [page + HEADER + 2 * i, page + HEADER + 2 * j];
  const [first, second] = [bytes.readUInt16LE(a), bytes.readUInt16LE(b)];
  bytes.writeUInt16LE(second, a);
  bytes.writeUInt16LE(first, b);
}

/** Raises the separator by one in its last byte, so that the first key below it is on the wrong side. */
function raiseKey(page: number, i: number): void {
  const node = nodeAt(page, i);
  const last = node + 8 + bytes.readUInt16LE(node + 6) - 1;
  bytes.writeUInt8(bytes.readUInt8(last) + 1, last);
}

/** The offset of the first list of free pages: the number of words, then the words. */
function freeRecord(): number {
  const node = nodeAt(freeLeaf, 0);
  return node + 8 + bytes.readUInt16LE(node + 6);
}

function setFreePage(page: bigint): void {
  bytes.writeBigInt64LE(1n, freeRecord());
  bytes.writeBigInt64LE(page, freeRecord() + 8);
}
