import { Slices, systemClock, type WatchEvent } from "@tenure/core";
import { expect, test } from "vitest";
import { Watch } from "./watch.js";
import { WatchMany } from "./watch-many.js";

const WATCHES = 1000;
const STREAMS = 5;

/** The most that happened within one turn of the event loop, and how much in all. */
class PerTurn {
  most = 0;
  all = 0;
  #now = 0;

  add(): void {
    if (this.#now === 0) setImmediate(() => (this.#now = 0));
    this.#now++;
    this.all++;
    this.most = Math.max(this.most, this.#now);
  }

  async reaches(count: number): Promise<void> {
    while (this.all < count) await new Promise((resolve) => setImmediate(resolve));
  }
}

function streams(opened: PerTurn, closed: PerTurn): readonly WatchMany[] {
  const slices = new Slices(systemClock);
  const watch = () => {
    const iterator: AsyncIterator<WatchEvent> = {
      next: () => {
        opened.add();
        return new Promise(() => {});
      },
      return: async () => {
        closed.add();
        return { done: true, value: undefined };
      },
    };
    return new Watch({ events: { [Symbol.asyncIterator]: () => iterator }, leave: () => {} });
  };
  return Array.from({ length: STREAMS }, (_, stream) => {
    const watches = Array.from({ length: WATCHES }, (__, index) => [`${stream}/${index}`, watch()] as const);
    return new WatchMany(new Map(watches), slices);
  });
}

test("streams of a thousand groups each open and close a part of their watches in each turn of the event loop", async () => {
  const opened = new PerTurn();
  const closed = new PerTurn();
  const all = streams(opened, closed);
  for (const stream of all) void stream.next();
  await opened.reaches(STREAMS * WATCHES);
  await Promise.all(all.map((stream) => stream.return()));
  expect(closed.all).toBe(STREAMS * WATCHES);
  // Of all streams together.
  expect(opened.most).toBeLessThanOrEqual(WATCHES / 5);
  expect(closed.most).toBeLessThanOrEqual(WATCHES / 5);
});

test("a stream that is left while it opens its watches opens no more of them, and closes all", async () => {
  const opened = new PerTurn();
  const closed = new PerTurn();
  const [stream] = streams(opened, closed);
  void stream?.next();
  await stream?.return();
  expect(opened.all).toBeLessThan(WATCHES);
  expect(closed.all).toBe(WATCHES);
});
