import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { describe, expect, test } from "vitest";
import { SharedPair } from "./shared-pair.js";

const SEQUENCE = 4;
/** Different readings: both threads were running. On a single core they take turns, so there are fewer in the time. */
const SEEN = 5000;
const MAX_MS = 5000;

/** The build that `npm test` makes first, because a thread cannot run TypeScript. */
const BUILT = new URL("../../dist/worker/shared-pair.js", import.meta.url).href;

/** Writes numbers that belong together, as fast as it can, until the word after the pair is set. */
const WRITER = `
  const { parentPort, workerData } = require("node:worker_threads");
  void import(${JSON.stringify(BUILT)}).then(({ SharedPair }) => {
    const pair = new SharedPair(workerData, 0);
    const over = new Int32Array(workerData, SharedPair.BYTES, 1);
    let n = 0;
    pair.write(n, -n);
    parentPort.postMessage("writes");
    while (Atomics.load(over, 0) === 0) {
      // Room for readers, and all bits of both numbers other than before.
      for (let i = 0; i < 200; i++) n = n * -1.0000001 + 1 / 3;
      pair.write(n, -n);
    }
  });
`;

describe("SharedPair", () => {
  test("a shared pair is read as it was written", () => {
    const memory = new SharedArrayBuffer(SharedPair.BYTES);
    const [writer, reader] = [new SharedPair(memory, 0), new SharedPair(memory, 0)];
    expect(reader.first).toBe(Number.NEGATIVE_INFINITY);
    writer.write(1_234_567_890.125, -0.1);
    reader.read();
    expect([reader.first, reader.second]).toEqual([1_234_567_890.125, -0.1]);
  });

  test("a shared pair is never read half from one write and half from the next", async () => {
    const memory = new SharedArrayBuffer(SharedPair.BYTES + Int32Array.BYTES_PER_ELEMENT);
    const thread = new Worker(WRITER, { eval: true, workerData: memory });
    await once(thread, "message");
    const reader = new SharedPair(memory, 0);
    let torn = 0;
    let seen = 0;
    let last = Number.NaN;
    const untilMs = performance.now() + MAX_MS;
    while (seen < SEEN && performance.now() < untilMs) {
      reader.read();
      if (reader.first !== -reader.second) torn++;
      if (reader.first !== last) seen++;
      last = reader.first;
    }
    Atomics.store(new Int32Array(memory, SharedPair.BYTES, 1), 0, 1);
    await once(thread, "exit");
    expect(torn).toBe(0);
    expect(seen).toBeGreaterThan(10);
  });

  test("a shared pair keeps its last read values if the writer dies in the middle of a write", () => {
    const memory = new SharedArrayBuffer(SharedPair.BYTES);
    const [writer, reader] = [new SharedPair(memory, 0), new SharedPair(memory, 0)];
    writer.write(1, 2);
    reader.read();
    const words = new Int32Array(memory);
    Atomics.add(words, SEQUENCE, 1);
    Atomics.store(words, 0, 77);
    reader.read();
    expect([reader.first, reader.second]).toEqual([1, 2]);
  });
});
