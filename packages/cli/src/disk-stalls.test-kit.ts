import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";

/** Far longer than a healthy disk takes. */
const USUAL_MS = 20;
const EVERY_MS = 5;

const OVER = 0;
const STALLED = 1;

const PROBE = `
  const { openSync, writeSync, fdatasyncSync, closeSync } = require("node:fs");
  const { workerData } = require("node:worker_threads");
  const { file, memory, usualMs } = workerData;
  const words = new Int32Array(memory);
  const page = Buffer.alloc(4096, 1);
  const descriptor = openSync(file, "w");
  while (Atomics.wait(words, ${OVER}, 0, ${EVERY_MS}) === "timed-out") {
    const startMs = performance.now();
    writeSync(descriptor, page, 0, page.length, 0);
    fdatasyncSync(descriptor);
    const tookMs = performance.now() - startMs;
    if (tookMs > usualMs) Atomics.add(words, ${STALLED}, Math.ceil(tookMs));
  }
  closeSync(descriptor);
`;

/**
 * Measures beside a bare thread that flushes a page to the same disk again and again. A flush that takes far longer than
 * usual holds up every durable write of the machine: what is measured may be later by as much, and no more.
 *
 * Returns what was measured, and for how long the disk stood still meanwhile, all together: 0 as a rule. Flushes that took
 * up to `usualMs` do not count.
 */
export async function besideDisk<T>(
  measure: () => Promise<T>,
  usualMs: number = USUAL_MS,
): Promise<[measured: T, stalledMs: number]> {
  const directory = mkdtempSync(join(tmpdir(), "tenure-stalls-"));
  const memory = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  const words = new Int32Array(memory);
  const probe = new Worker(PROBE, {
    eval: true,
    workerData: { file: join(directory, "page"), memory, usualMs },
  });
  const exited = once(probe, "exit");
  const end = async (): Promise<void> => {
    Atomics.store(words, OVER, 1);
    Atomics.notify(words, OVER);
    await exited;
  };
  try {
    const measured = await measure();
    // A flush in progress has also delayed what was measured, so it counts.
    await end();
    return [measured, Atomics.load(words, STALLED)];
  } finally {
    await end();
    rmSync(directory, { recursive: true, force: true });
  }
}
