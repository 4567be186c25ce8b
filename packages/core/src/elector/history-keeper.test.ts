import { expect, test } from "vitest";
import { decodeHistory, encodeHistory } from "../codec.js";
import { BackendUnavailableError } from "../errors.js";
import type { LeadershipEvent } from "../event.js";
import { EMPTY_RECORD, type ElectionRecord } from "../record.js";
import { MemoryStore } from "../store/memory-store.js";
import { beginTerm } from "../rules/terms.js";
import { VirtualClock } from "../testing/virtual-clock.js";
import { Batcher } from "./batcher.js";
import { FeedFollower } from "./feed-follower.js";
import { ReadBarrier } from "./read-barrier.js";
import { GroupState } from "./group-state.js";
import { HistoryKeeper } from "./history-keeper.js";
import {
  eachEntry,
  failureOf,
  Held,
  late,
  lostAnswer,
  lostRequest,
  refused,
  ScriptedStore,
  withoutCause,
} from "./world.test-kit.js";

const HOLDER = { nodeId: "a", instanceId: null, ttlMs: 1000, priority: 0, metadata: null };
const numbers = (events: readonly LeadershipEvent[]) => events.map(({ number }) => number);

/** A record after that many events, with the last four of them. */
function recordAfter(events: number): ElectionRecord {
  let record = EMPTY_RECORD;
  for (let i = 0; i < events; i++) record = beginTerm(record, HOLDER, 1010, { wallMs: 0 }).next;
  return record;
}

async function setUp(eventNumber: number): Promise<{
  clock: VirtualClock;
  store: ScriptedStore;
  group: GroupState;
  keeper: HistoryKeeper;
  stored: () => Promise<readonly number[]>;
}> {
  const clock = new VirtualClock();
  const store = new ScriptedStore(new MemoryStore());
  const group = new GroupState("g");
  const follower = new FeedFollower(
    store,
    clock,
    eachEntry((entry) => {
      if (entry.key === "h/g") group.observeHistory(entry);
    }),
  );
  follower.start();
  const batcher = new Batcher(store, clock);
  const keeper = new HistoryKeeper(batcher, new ReadBarrier(store, clock, follower));
  await clock.advance(0);
  group.install(recordAfter(eventNumber), "", 1, 0);
  const stored = async () => {
    for await (const { entries } of store.inner.feed()) {
      const entry = entries.find(({ key }) => key === "h/g");
      return entry === undefined ? [] : numbers(decodeHistory(entry.value).events);
    }
    return [];
  };
  return { clock, store, group, keeper, stored };
}

test("the record's events are appended to the history, which then is up to date", async () => {
  const { group, keeper, stored } = await setUp(2);
  expect(keeper.isBehind(group)).toBe(true);
  await keeper.bringUpToDate(group);
  expect(keeper.isBehind(group)).toBe(false);
  expect(await stored()).toEqual([1, 2]);
  group.install(recordAfter(5), "", 2, 0);
  await keeper.bringUpToDate(group);
  expect(await stored()).toEqual([1, 2, 3, 4, 5]);
});

test("concurrent calls to bring a history up to date share one attempt", async () => {
  const { clock, store, group, keeper } = await setUp(1);
  const held = new Held();
  store.next("h/", held.fate);
  const all = Promise.all(Array.from({ length: 5 }, () => keeper.bringUpToDate(group)));
  await held.arrived;
  held.release();
  await clock.advance(0);
  await all;
  expect(store.sentTo("h/")).toBe(1);
});

test("events that another server wrote to the history are merged, not overwritten", async () => {
  const { store, group, keeper, stored } = await setUp(6);
  // The other server wrote the first four events; this one does not know that and is refused once.
  const theirs = encodeHistory({ events: recordAfter(4).events, acts: [] });
  await store.inner.compareAndSet([{ key: "h/g", expected: null, value: theirs }]);
  await keeper.bringUpToDate(group);
  expect(await stored()).toEqual([1, 2, 3, 4, 5, 6]);
});

test("the history keeps the last 64 events", async () => {
  const { group, keeper, stored } = await setUp(0);
  for (let last = 1; last <= 70; last++) {
    group.install(recordAfter(last), "", last, 0);
    await keeper.bringUpToDate(group);
  }
  expect(await stored()).toEqual(Array.from({ length: 64 }, (_, i) => 7 + i));
});

test.each([
  ["written, and the answer lost", lostAnswer],
  ["never written", lostRequest],
] as const)("an uncertain history write (%s) is checked and completed", async (_name, fate) => {
  const { clock, store, group, keeper, stored } = await setUp(3);
  store.next("h/", fate);
  const done = keeper.bringUpToDate(group);
  await clock.advance(300);
  await done;
  expect(await stored()).toEqual([1, 2, 3]);
  expect(keeper.isBehind(group)).toBe(false);
});

test("a history write that lands late duplicates no event", async () => {
  const { clock, store, group, keeper, stored } = await setUp(3);
  store.next("h/", late(clock, 50));
  await keeper.bringUpToDate(group);
  group.install(recordAfter(4), "", 2, 0);
  await keeper.bringUpToDate(group);
  await clock.advance(100);
  expect(await stored()).toEqual([1, 2, 3, 4]);
});

test("advance() rejects when its write fails; bringUpToDate() leaves the history behind for a later call", async () => {
  const { store, group, keeper } = await setUp(3);
  store.next("h/", refused, 2);
  expect(await failureOf(keeper.advance(group))).toBeInstanceOf(BackendUnavailableError);
  await keeper.bringUpToDate(group);
  expect(keeper.isBehind(group)).toBe(true);
  await keeper.bringUpToDate(group);
  expect(keeper.isBehind(group)).toBe(false);
});

test("a history write is tried at most eight times if the store refuses it without a cause", async () => {
  const { store, group, keeper } = await setUp(3);
  await keeper.bringUpToDate(group);
  group.install(recordAfter(4), "", 2, 0);
  const before = store.sentTo("h/");
  store.always("h/", withoutCause(store.inner));
  await keeper.bringUpToDate(group);
  expect(store.sentTo("h/") - before).toBe(8);
  expect(keeper.isBehind(group)).toBe(true);
});

test("a record without events needs no history", async () => {
  const { store, group, keeper } = await setUp(0);
  await keeper.bringUpToDate(group);
  expect(store.sent).toEqual([]);
});

test("a history in an unknown format is left unchanged", async () => {
  const { clock, store, group, keeper } = await setUp(3);
  const value = '{"v":99}';
  await store.inner.compareAndSet([{ key: "h/g", expected: null, value }]);
  await clock.advance(0);
  expect(group.isUnreadable).toBe(true);
  await keeper.bringUpToDate(group);
  expect(await failureOf(keeper.advance(group))).toBeInstanceOf(BackendUnavailableError);
  for await (const { entries } of store.inner.feed()) {
    expect(entries.find(({ key }) => key === "h/g")?.value).toBe(value);
    break;
  }
});
