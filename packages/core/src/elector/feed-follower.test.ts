import { expect, test } from "vitest";
import { sleep } from "../clock.js";
import { BackendUnavailableError } from "../errors.js";
import { MemoryStore } from "../store/memory-store.js";
import type { CallOptions, Entry, FeedItem, Revision } from "../store/store.js";
import { VirtualClock } from "../testing/virtual-clock.js";
import { FeedFollower } from "./feed-follower.js";
import { eachEntry, failureOf, stateOf } from "./world.test-kit.js";

/** What one opened feed delivers before it breaks or stays open. */
interface Opening {
  readonly items: readonly FeedItem[];
  /** How long the first item takes. */
  readonly delayMs?: number;
  readonly end: "break" | "stay" | "end";
}

class ScriptedFeed extends MemoryStore {
  readonly openedAtMs: number[] = [];
  returned = 0;
  readonly #clock: VirtualClock;
  readonly #openings: Opening[];

  constructor(clock: VirtualClock, openings: readonly Opening[]) {
    super();
    this.#clock = clock;
    this.#openings = [...openings];
  }

  override async *feed(options?: CallOptions): AsyncGenerator<FeedItem> {
    this.openedAtMs.push(this.#clock.monotonicMs());
    const opening = this.#openings.shift() ?? { items: [], end: "stay" };
    try {
      if (opening.delayMs !== undefined) await sleep(this.#clock, opening.delayMs);
      for (const item of opening.items) yield item;
      if (opening.end === "break") throw new BackendUnavailableError("the feed broke");
      if (opening.end === "end") return;
      await new Promise((_resolve, reject) => {
        const abort = () => reject(options?.signal?.reason as Error);
        options?.signal?.addEventListener("abort", abort, { once: true });
      });
    } finally {
      this.returned++;
    }
  }
}

const entry = (key: string, revision: Revision): Entry => ({ key, value: "v", revision });
const snapshot = (revision: Revision, ...entries: Entry[]): FeedItem => ({
  kind: "snapshot",
  entries,
  revision,
});
const changes = (revision: Revision, ...entries: Entry[]): FeedItem => ({
  kind: "changes",
  entries,
  revision,
});

function follow(...openings: Opening[]): {
  clock: VirtualClock;
  store: ScriptedFeed;
  follower: FeedFollower;
  seen: Entry[];
} {
  const clock = new VirtualClock();
  const store = new ScriptedFeed(clock, openings);
  const seen: Entry[] = [];
  const follower = new FeedFollower(
    store,
    clock,
    eachEntry((each) => seen.push(each)),
  );
  follower.start();
  return { clock, store, follower, seen };
}

const never = new AbortController().signal;

test("every entry is passed on in order, and progress follows what was delivered", async () => {
  const { clock, follower, seen } = follow({
    items: [snapshot(2, entry("a", 1), entry("b", 2)), changes(5, entry("a", 5))],
    end: "stay",
  });
  const five = follower.reached(5, never);
  const six = follower.reached(6, never);
  await clock.advance(0);
  expect(seen.map(({ key, revision }) => `${key}${revision}`)).toEqual(["a1", "b2", "a5"]);
  expect([await stateOf(five), await stateOf(six)]).toEqual(["fulfilled", "pending"]);
  expect(await stateOf(follower.reached(3, never))).toBe("fulfilled");
  expect(follower.broken).toBeNull();
});

test("an entry is passed on before its revision counts as reached", async () => {
  const clock = new VirtualClock();
  const store = new ScriptedFeed(clock, [
    { items: [snapshot(1, entry("a", 1)), changes(2, entry("a", 2))], end: "stay" },
  ]);
  const order: string[] = [];
  const follower = new FeedFollower(
    store,
    clock,
    eachEntry(({ revision }) => order.push(`seen ${revision}`)),
  );
  void follower.reached(2, never).then(() => order.push("reached 2"));
  follower.start();
  await clock.advance(0);
  expect(order).toEqual(["seen 1", "seen 2", "reached 2"]);
});

test("a feed that breaks at once is reopened with growing pauses of at most a second", async () => {
  const { clock, store, follower } = follow(
    ...Array.from({ length: 12 }, (): Opening => ({ items: [], end: "break" })),
  );
  await clock.advance(6000);
  const pauses = store.openedAtMs.slice(1).map((atMs, i) => atMs - (store.openedAtMs[i] ?? 0));
  expect(pauses.slice(0, 9)).toEqual([10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
  expect(follower.broken).toBeInstanceOf(BackendUnavailableError);
});

test("a feed that delivered something, or that ended without an error, is reopened at once", async () => {
  const { clock, store, follower, seen } = follow(
    { items: [], end: "break" },
    { items: [], end: "break" },
    { items: [snapshot(1, entry("a", 1))], end: "break" },
    { items: [snapshot(3, entry("a", 3))], end: "end" },
    { items: [snapshot(4, entry("a", 4))], end: "stay" },
  );
  await clock.advance(1000);
  expect(store.openedAtMs).toEqual([0, 10, 30, 40, 50]);
  expect(seen.map(({ revision }) => revision)).toEqual([1, 3, 4]);
  expect(follower.broken).toBeNull();
});

test("a wait for a revision is resolved by a later feed", async () => {
  const { clock, follower } = follow(
    { items: [snapshot(1)], end: "break" },
    { items: [snapshot(7)], end: "stay" },
  );
  const seven = follower.reached(7, never);
  await clock.advance(5);
  expect(await stateOf(seven)).toBe("pending");
  await clock.advance(5);
  expect(await stateOf(seven)).toBe("fulfilled");
});

test("a snapshot older than the state already shown is refused, and none of it is passed on", async () => {
  const { clock, store, follower, seen } = follow(
    { items: [snapshot(9, entry("a", 9))], end: "break" },
    { items: [snapshot(4, entry("a", 4))], end: "stay" },
    { items: [snapshot(4, entry("a", 4))], end: "stay" },
    { items: [snapshot(9, entry("a", 9))], end: "stay" },
  );
  await clock.advance(20);
  expect(String(follower.broken)).toMatch(/restored from a backup/);
  await clock.advance(1000);
  expect(seen.map(({ revision }) => revision)).toEqual([9, 9]);
  expect(follower.broken).toBeNull();
  // Each refused feed was ended and not left open.
  expect(store.returned).toBe(3);
});

test("an aborted wait rejects with the signal's reason and is dropped", async () => {
  const { clock, follower } = follow({ items: [snapshot(1)], end: "stay" });
  const controller = new AbortController();
  const failure = failureOf(follower.reached(5, controller.signal));
  await clock.advance(0);
  const reason = new Error("gone");
  controller.abort(reason);
  expect(await failure).toBe(reason);
  expect(await failureOf(follower.reached(5, controller.signal))).toBe(reason);
});

test("close ends the feed, and the pause between two feeds", async () => {
  const open = follow({ items: [snapshot(1)], end: "stay" });
  await open.clock.advance(0);
  await open.follower.close();
  expect(open.store.returned).toBe(1);
  const pausing = follow(...Array.from({ length: 9 }, (): Opening => ({ items: [], end: "break" })));
  await pausing.clock.advance(1000);
  await pausing.follower.close();
  const opened = pausing.store.openedAtMs.length;
  await pausing.clock.advance(10_000);
  expect(pausing.store.openedAtMs.length).toBe(opened);
});

/** Waits for `revision` repeatedly, a second each time, as rounds of reads do. */
async function ask(
  clock: VirtualClock,
  follower: FeedFollower,
  revision: Revision,
  times: number,
): Promise<void> {
  for (let i = 0; i < times; i++) {
    const controller = new AbortController();
    void failureOf(follower.reached(revision, controller.signal));
    await clock.advance(1000);
    controller.abort(new Error("took too long"));
    await clock.advance(0);
  }
}

test("a feed that stays silent although the store answers is abandoned, and another is opened", async () => {
  const { clock, store, follower, seen } = follow(
    { items: [snapshot(1, entry("a", 1))], end: "stay" },
    { items: [snapshot(9, entry("a", 9))], end: "stay" },
  );
  await clock.advance(60_000);
  await ask(clock, follower, 9, 4);
  expect(store.openedAtMs).toHaveLength(1);
  await ask(clock, follower, 9, 2);
  expect(store.openedAtMs).toHaveLength(2);
  expect(seen.map(({ revision }) => revision)).toEqual([1, 9]);
  expect(follower.broken).toBeNull();
  expect(store.returned).toBe(1);
});

test("a feed that owes something is abandoned after five seconds of silence, although no other request comes", async () => {
  const { clock, store, follower, seen } = follow(
    { items: [snapshot(1)], end: "stay" },
    { items: [snapshot(9, entry("a", 9))], end: "stay" },
  );
  await clock.advance(60_000);
  await ask(clock, follower, 9, 1);
  await clock.advance(3990);
  expect(store.openedAtMs).toEqual([0]);
  await clock.advance(30);
  expect(store.openedAtMs).toHaveLength(2);
  expect(seen.map(({ revision }) => revision)).toEqual([9]);
});

test("a feed that was slow to begin gets five seconds again after its first item, not the longer time before", async () => {
  const { clock, store, follower } = follow(
    { items: [], end: "stay" },
    { items: [snapshot(9)], delayMs: 100, end: "stay" },
    { items: [snapshot(10)], end: "stay" },
  );
  await ask(clock, follower, 9, 5);
  await clock.advance(50);
  expect(store.openedAtMs).toHaveLength(2);
  // Asked of the new feed before its first item, so that the longer time applies.
  await ask(clock, follower, 9, 1);
  const askedAtMs = clock.monotonicMs();
  await ask(clock, follower, 10, 1);
  await clock.advance(5000);
  expect(store.openedAtMs).toHaveLength(3);
  expect((store.openedAtMs[2] ?? 0) - askedAtMs).toBeLessThan(5050);
});

test("a feed that owes nothing any more is kept, however long it is silent", async () => {
  const { clock, store, follower } = follow({ items: [snapshot(1), changes(2)], end: "stay" });
  const reached = follower.reached(2, never);
  await clock.advance(60_000);
  expect(await stateOf(reached)).toBe("fulfilled");
  expect(store.openedAtMs).toEqual([0]);
});

test("a feed that ignores its abort signal is abandoned", async () => {
  const { clock, store, follower } = follow();
  let opened = 0;
  store.feed = () => {
    opened++;
    return { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) } as never;
  };
  await clock.advance(1000);
  await ask(clock, follower, 9, 60);
  expect(opened).toBeGreaterThanOrEqual(3);
  // Each feed gets twice the time of the last one, because the first snapshot of a large store is slow.
  expect(opened).toBeLessThanOrEqual(5);
  await follower.close();
});

test("a feed that was idle for a long time is not abandoned because it lags briefly", async () => {
  const { clock, store, follower } = follow({ items: [snapshot(1)], end: "stay" });
  await clock.advance(3_600_000);
  const lagging = new AbortController();
  void failureOf(follower.reached(2, lagging.signal));
  await clock.advance(25);
  lagging.abort(new Error("took too long"));
  await clock.advance(0);
  expect(store.openedAtMs).toHaveLength(1);
  await follower.close();
});
