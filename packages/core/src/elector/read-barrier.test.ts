import { expect, test } from "vitest";
import { BackendUnavailableError, ClosedError } from "../errors.js";
import { MemoryStore } from "../store/memory-store.js";
import type { CallOptions, FeedItem, Revision } from "../store/store.js";
import { VirtualClock } from "../testing/virtual-clock.js";
import { FeedFollower } from "./feed-follower.js";
import { ReadBarrier } from "./read-barrier.js";
import { failureOf, stateOf } from "./world.test-kit.js";

interface Sync {
  answer(revision: Revision): void;
  fail(error: unknown): void;
}

/** A store whose reads are answered and whose feed is advanced by the test. */
class HandStore extends MemoryStore {
  readonly syncs: Sync[] = [];
  deliver!: (item: FeedItem) => void;
  readonly #items: FeedItem[] = [];

  override sync(): Promise<Revision> {
    return new Promise((resolve, reject) => this.syncs.push({ answer: resolve, fail: reject }));
  }

  override async *feed(options?: CallOptions): AsyncGenerator<FeedItem> {
    for (;;) {
      options?.signal?.throwIfAborted();
      const item = this.#items.shift();
      if (item !== undefined) {
        yield item;
        continue;
      }
      await new Promise<void>((resolve) => {
        options?.signal?.addEventListener("abort", () => resolve(), { once: true });
        this.deliver = (next) => {
          this.#items.push(next);
          resolve();
        };
      });
    }
  }

  reach(revision: Revision): void {
    this.deliver({ kind: "changes", entries: [], revision });
  }
}

async function setUp(): Promise<{ store: HandStore; clock: VirtualClock; readBarrier: ReadBarrier }> {
  const store = new HandStore();
  const clock = new VirtualClock();
  const follower = new FeedFollower(store, clock, { snapshot: () => {}, changes: () => {} });
  follower.start();
  await clock.advance(0);
  return { store, clock, readBarrier: new ReadBarrier(store, clock, follower) };
}

test("one sync serves all reads that came before it was sent", async () => {
  const { store, clock, readBarrier } = await setUp();
  const all = Promise.all(Array.from({ length: 100 }, () => readBarrier.wait(250)));
  await clock.advance(0);
  expect(store.syncs).toHaveLength(1);
  store.reach(5);
  store.syncs[0]?.answer(5);
  await clock.advance(0);
  expect(await stateOf(all)).toBe("fulfilled");
  expect(store.syncs).toHaveLength(1);
});

test("a read never joins a sync already sent, and reads that came meanwhile share the next one", async () => {
  const { store, clock, readBarrier } = await setUp();
  const early = readBarrier.wait(250);
  await clock.advance(0);
  const late = [readBarrier.wait(250), readBarrier.wait(250)];
  await clock.advance(0);
  expect(store.syncs).toHaveLength(1);
  store.reach(9);
  store.syncs[0]?.answer(3);
  await clock.advance(0);
  expect([await stateOf(early), await stateOf(late[0]!), await stateOf(late[1]!)]).toEqual([
    "fulfilled",
    "pending",
    "pending",
  ]);
  expect(store.syncs).toHaveLength(2);
  store.syncs[1]?.answer(4);
  await clock.advance(0);
  expect([await stateOf(late[0]!), await stateOf(late[1]!)]).toEqual(["fulfilled", "fulfilled"]);
});

test("a read waits until the feed has reached the revision that the sync returned", async () => {
  const { store, clock, readBarrier } = await setUp();
  const passed = readBarrier.wait(250);
  await clock.advance(0);
  store.syncs[0]?.answer(5);
  await clock.advance(0);
  store.reach(4);
  await clock.advance(0);
  expect(await stateOf(passed)).toBe("pending");
  store.reach(5);
  await clock.advance(0);
  expect(await stateOf(passed)).toBe("fulfilled");
});

test("a sync whose feed lags does not delay the next one", async () => {
  const { store, clock, readBarrier } = await setUp();
  const first = readBarrier.wait(250);
  await clock.advance(0);
  store.syncs[0]?.answer(5);
  await clock.advance(0);
  const second = readBarrier.wait(250);
  await clock.advance(0);
  expect(store.syncs).toHaveLength(2);
  store.syncs[1]?.answer(5);
  store.reach(5);
  await clock.advance(0);
  expect([await stateOf(first), await stateOf(second)]).toEqual(["fulfilled", "fulfilled"]);
});

test("a sync without an answer, or a feed that stands still, fails its own round in time and no other round", async () => {
  const { store, clock, readBarrier } = await setUp();
  const silent = failureOf(readBarrier.wait(250));
  await clock.advance(100);
  const next = failureOf(readBarrier.wait(250));
  await clock.advance(150);
  expect(await stateOf(silent)).toBe("fulfilled");
  expect(await silent).toBeInstanceOf(BackendUnavailableError);
  expect(store.syncs).toHaveLength(2);
  store.syncs[1]?.answer(100);
  await clock.advance(249);
  expect(await stateOf(next)).toBe("pending");
  await clock.advance(1);
  expect(await next).toBeInstanceOf(BackendUnavailableError);
  const good = readBarrier.wait(250);
  await clock.advance(0);
  store.syncs[2]?.answer(0);
  await clock.advance(0);
  expect(await stateOf(good)).toBe("fulfilled");
});

test("a failed sync rejects with BackendUnavailableError or ClosedError, whatever the driver threw", async () => {
  const { store, clock, readBarrier } = await setUp();
  for (const [error, expected] of [
    [new ClosedError("closed"), ClosedError],
    [new Error("a driver's own"), BackendUnavailableError],
    ["not even an error", BackendUnavailableError],
  ] as const) {
    const failure = failureOf(readBarrier.wait(250));
    await clock.advance(0);
    store.syncs.at(-1)?.fail(error);
    expect(await failure).toBeInstanceOf(expected);
  }
});

test("a failed round whose readers have all left causes no unhandled rejection", async () => {
  const { store, clock, readBarrier } = await setUp();
  void readBarrier.wait(250);
  await clock.advance(0);
  store.syncs[0]?.fail(new BackendUnavailableError("out"));
  await clock.advance(0);
});

test("ageMs counts from the sending of the last sync that the feed has reached", async () => {
  const { store, clock, readBarrier } = await setUp();
  expect(readBarrier.wasPassed).toBe(false);
  const passed = readBarrier.wait(250);
  await clock.advance(30);
  store.syncs[0]?.answer(0);
  await clock.advance(0);
  await passed;
  expect(readBarrier.wasPassed).toBe(true);
  expect(readBarrier.ageMs()).toBe(30);
  await clock.advance(20);
  expect(readBarrier.ageMs()).toBe(50);
});

test("each reader of a round times out at its own limit, and the round goes on for the others", async () => {
  const { store, clock, readBarrier } = await setUp();
  const short = failureOf(readBarrier.wait(125));
  const long = readBarrier.wait(1000);
  await clock.advance(125);
  expect(await stateOf(short)).toBe("fulfilled");
  expect(await short).toBeInstanceOf(BackendUnavailableError);
  await clock.advance(800);
  store.syncs[0]?.answer(0);
  await clock.advance(0);
  expect(await stateOf(long)).toBe("fulfilled");
  expect(store.syncs).toHaveLength(1);
});

test("a sync without an answer delays a reader with a shorter limit by at most that limit", async () => {
  const { store, clock, readBarrier } = await setUp();
  const long = readBarrier.wait(1000);
  await clock.advance(50);
  const short = readBarrier.wait(125);
  await clock.advance(74);
  expect(store.syncs).toHaveLength(1);
  await clock.advance(1);
  expect(store.syncs).toHaveLength(2);
  // The sync was sent after the long read came, so it serves that read too.
  store.syncs[1]?.answer(0);
  await clock.advance(0);
  expect([await stateOf(short), await stateOf(long)]).toEqual(["fulfilled", "fulfilled"]);
});

test("a round does not serve a reader that came after it was sent, even while a later round is in flight", async () => {
  const { store, clock, readBarrier } = await setUp();
  const first = readBarrier.wait(1000);
  await clock.advance(0);
  const second = readBarrier.wait(125);
  await clock.advance(125);
  expect(store.syncs).toHaveLength(2);
  store.syncs[0]?.answer(0);
  await clock.advance(0);
  expect([await stateOf(first), await stateOf(second)]).toEqual(["fulfilled", "pending"]);
  store.syncs[1]?.answer(0);
  await clock.advance(0);
  expect(await stateOf(second)).toBe("fulfilled");
});
