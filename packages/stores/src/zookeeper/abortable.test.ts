import { once } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { abortable, giveUp, whenAborted, within } from "./abortable.js";

const never = new Promise<never>(() => undefined);

test("an abort wins over work that goes on, and is made of what it is asked to be", async () => {
  const controller = new AbortController();
  const reason = new Error("enough");
  const given = [
    abortable(never, controller.signal, giveUp),
    abortable<string>(never, controller.signal, () => "uncertain"),
  ];
  controller.abort(reason);
  await expect(given[0]).rejects.toBe(reason);
  expect(await given[1]).toBe("uncertain");
  await expect(abortable(never, controller.signal, giveUp)).rejects.toBe(reason);
});

test("work that is done first wins", async () => {
  const controller = new AbortController();
  expect(await abortable(Promise.resolve(1), controller.signal, giveUp)).toBe(1);
  await expect(abortable(Promise.reject(new Error("no")), controller.signal, giveUp)).rejects.toThrow("no");
});

test("a listener is called once, or not at all if it was removed", () => {
  const controller = new AbortController();
  const calls: string[] = [];
  whenAborted(controller.signal, () => calls.push("first"));
  whenAborted(controller.signal, () => calls.push("removed"))();
  controller.abort();
  whenAborted(controller.signal, () => calls.push("late"));
  expect(calls).toEqual(["first", "late"]);
});

test("a limit ends work that waits for nothing else, whatever is collected meanwhile", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const collecting = setImmediateForEver(collect);
  const stop = new AbortController();
  // As connecting to a hanging server does: one limit within another, and nobody else holds on to either.
  const work = within(60_000, stop.signal, (outer) =>
    within(100, outer, async (signal) => {
      await once(signal, "abort");
      signal.throwIfAborted();
    }),
  );
  await expect(work).rejects.toThrow("no answer in 100 ms");
  collecting.stop();
});

test("what holds work back ends it", async () => {
  const stop = new AbortController();
  const reason = new Error("closed");
  const work = within(60_000, stop.signal, async (signal) => {
    await once(signal, "abort");
    signal.throwIfAborted();
  });
  stop.abort(reason);
  await expect(work).rejects.toBe(reason);
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
