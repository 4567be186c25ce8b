import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { MemoryStore } from "../store/memory-store.js";
import { StoreElector } from "../elector/store-elector.js";
import { onAbort } from "./on-abort.js";
import { VirtualClock } from "../testing/virtual-clock.js";

const listenersOf = (signal: AbortSignal): number => getEventListeners(signal, "abort").length;

test("all listeners of a signal share one platform listener, which is removed with the last of them", () => {
  const { signal } = new AbortController();
  const stops = Array.from({ length: 1000 }, () => onAbort(signal, () => {}));
  expect(listenersOf(signal)).toBe(1);
  for (const stop of stops.slice(1)) stop();
  expect(listenersOf(signal)).toBe(1);
  stops[0]?.();
  expect(listenersOf(signal)).toBe(0);
  onAbort(signal, () => {});
  expect(listenersOf(signal)).toBe(1);
});

test("each listener is called once, in order, unless it was removed first, even by another listener", () => {
  const controller = new AbortController();
  const called: string[] = [];
  let stopThird = (): void => {};
  onAbort(controller.signal, () => called.push("first"));
  onAbort(controller.signal, () => {
    called.push("second");
    stopThird();
  });
  stopThird = onAbort(controller.signal, () => called.push("third"));
  const stop = onAbort(controller.signal, () => called.push("removed"));
  stop();
  stop();
  controller.abort();
  controller.abort();
  expect(called).toEqual(["first", "second"]);
  onAbort(controller.signal, () => called.push("too late"));
  expect(called).toHaveLength(2);
});

test("a function that was added twice is called twice, and each removal removes one", () => {
  const controller = new AbortController();
  let calls = 0;
  const count = (): void => void calls++;
  onAbort(controller.signal, count);
  const stop = onAbort(controller.signal, count);
  onAbort(controller.signal, count);
  stop();
  controller.abort();
  expect(calls).toBe(2);
});

test("a listener without a signal is never called", () => {
  expect(() => onAbort(undefined, () => {})()).not.toThrow();
});

test("watches and waiting campaigns that share signals add no platform listener each", async () => {
  const clock = new VirtualClock();
  const elector = StoreElector.open({ store: new MemoryStore(), clock, random: () => 0.5 });
  const connection = new AbortController();
  const { signal } = connection;
  await elector.campaign({ groupId: "g", nodeId: "a", ttlMs: 10_000 });
  const campaigns = Array.from({ length: 200 }, (_, i) =>
    elector.campaign({ groupId: "g", nodeId: `n${i}`, ttlMs: 1000, waitMs: 60_000 }, { signal }),
  );
  const refused = Promise.allSettled(campaigns);
  const watches = Array.from({ length: 200 }, (_, i) =>
    elector.watch(i % 2 === 0 ? "g" : `g${i}`, { signal })[Symbol.asyncIterator](),
  );
  await Promise.all(watches.map((watch) => watch.next()));
  await clock.advance(10);
  expect(listenersOf(signal)).toBe(1);
  for (const watch of watches) await watch.return?.();
  expect(listenersOf(signal)).toBe(1);
  connection.abort(new Error("hung up"));
  expect((await refused).every(({ status }) => status === "rejected")).toBe(true);
  await elector.close();
});
