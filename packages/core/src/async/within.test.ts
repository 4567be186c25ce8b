import { once } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { systemClock } from "../system-clock.js";
import { within } from "./within.js";

test("a time limit ends work that waits for nothing else, even across garbage collections", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const collecting = setImmediateForEver(collect);
  const stop = new AbortController();
  // As when connecting to a server that hangs: one limit within another, and nothing else refers to either.
  const work = within(systemClock, { limitMs: 60_000, signal: stop.signal }, (outer) =>
    within(systemClock, { limitMs: 100, signal: outer }, async (signal) => {
      await once(signal, "abort");
      signal.throwIfAborted();
    }),
  );
  await expect(work).rejects.toThrow("no answer within 100 ms");
  collecting.stop();
});

test("the caller's signal ends the work, even if it was already aborted", async () => {
  const stop = new AbortController();
  const reason = new Error("closed");
  const work = within(systemClock, { limitMs: 60_000, signal: stop.signal }, async (signal) => {
    await once(signal, "abort");
    signal.throwIfAborted();
  });
  stop.abort(reason);
  await expect(work).rejects.toBe(reason);
  const late = within(systemClock, { limitMs: 60_000, signal: stop.signal }, async (signal) =>
    signal.throwIfAborted(),
  );
  await expect(late).rejects.toBe(reason);
});

test("work that ends in time leaves neither a timer nor a listener that could abort its signal", async () => {
  const stop = new AbortController();
  const given = await within(systemClock, { limitMs: 60_000, signal: stop.signal }, (signal) =>
    Promise.resolve(signal),
  );
  stop.abort();
  expect(given.aborted).toBe(false);
});

function setImmediateForEver(run: () => void): { stop: () => void } {
  let next: NodeJS.Immediate;
  const again = (): void => {
    run();
    next = setImmediate(again);
  };
  next = setImmediate(again);
  return { stop: () => clearImmediate(next) };
}
