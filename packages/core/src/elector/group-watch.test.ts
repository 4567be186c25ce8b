import { expect, test } from "vitest";
import { ClosedError } from "../errors.js";
import { VirtualClock } from "../testing/virtual-clock.js";
import { MemoryStore } from "../store/memory-store.js";
import { encodeHistory, encodeRecord } from "../codec.js";
import type { WatchManyItem } from "../elector-admin.js";
import type { LeadershipEvent } from "../event.js";
import { EMPTY_RECORD, EVENTS_IN_RECORD } from "../record.js";
import { beginTerm } from "../rules/terms.js";
import { Engine } from "./engine.js";
import { watchGroup } from "./group-watch.js";
import { watchMany } from "./many-watch.js";
import { failureOf, stateOf } from "./world.test-kit.js";

const HOLDER = { nodeId: "a", instanceId: null, ttlMs: 1000, priority: 0, metadata: null };

async function* flat(lists: AsyncIterable<readonly WatchManyItem[]>): AsyncGenerator<WatchManyItem> {
  for await (const items of lists) yield* items;
}

/** An engine on a store in which `groups` have had one election each. */
async function setUp(
  ...groups: string[]
): Promise<{ engine: Engine; clock: VirtualClock; store: MemoryStore }> {
  const clock = new VirtualClock();
  const store = new MemoryStore();
  const { next } = beginTerm(EMPTY_RECORD, HOLDER, 1010, { wallMs: 0 });
  for (const groupId of groups) {
    await store.compareAndSet([{ key: `r/${groupId}`, expected: null, value: encodeRecord(next) }]);
  }
  const engine = new Engine(store, clock, { explicitGroups: false, keepMembers: false }, () => {});
  engine.follower.start();
  await clock.advance(0);
  return { engine, clock, store };
}

test("return() on a waiting watch ends the watch and its pending next() at once", async () => {
  const { engine, clock } = await setUp("g");
  const watch = watchGroup(engine, "g", 1, [])[Symbol.asyncIterator]();
  const next = watch.next();
  await clock.advance(0);
  expect(await stateOf(next)).toBe("pending");
  const returned = watch.return?.();
  await clock.advance(0);
  expect(await next).toEqual({ done: true, value: undefined });
  expect(await returned).toEqual({ done: true, value: undefined });
  expect(await watch.next()).toEqual({ done: true, value: undefined });
  expect(engine.groups.get("g")?.watchers).toBeNull();
});

test("return() ends a watch that waits for a silent store", async () => {
  const { engine, clock, store } = await setUp("g");
  store.sync = () => new Promise(() => {});
  const watch = watchGroup(engine, "g", undefined, [])[Symbol.asyncIterator]();
  const next = watch.next();
  await clock.advance(0);
  void watch.return?.();
  await clock.advance(0);
  expect(await stateOf(next)).toBe("fulfilled");
});

test("return() before the first next() opens no watch", async () => {
  const { engine } = await setUp();
  const watch = watchGroup(engine, "unknown", undefined, [])[Symbol.asyncIterator]();
  expect(await watch.return?.()).toEqual({ done: true, value: undefined });
  expect(engine.groups.size).toBe(0);
});

test("leaving a for-await loop ends its watch", async () => {
  const { engine } = await setUp("g");
  for await (const event of watchGroup(engine, "g", 0, [])) {
    expect(event.cursor).toBe(1);
    expect(engine.groups.get("g")?.watchers?.size).toBe(1);
    break;
  }
  expect(engine.groups.get("g")?.watchers).toBeNull();
});

test("a watch is pulled: a reader that does not call next() buffers no events", async () => {
  const { engine, clock, store } = await setUp("g");
  const watch = watchGroup(engine, "g", undefined, [])[Symbol.asyncIterator]();
  expect((await watch.next()).value).toMatchObject({ type: "LEADER_CHANGED", cursor: 1 });
  let { record, revision } = engine.groups.get("g") ?? { record: EMPTY_RECORD, revision: null };
  for (let i = 0; i < 3; i++) {
    record = beginTerm(record, HOLDER, 1010, { wallMs: 0 }).next;
    const [outcome] = await store.compareAndSet([
      { key: "r/g", expected: revision, value: encodeRecord(record) },
    ]);
    revision = outcome?.kind === "swapped" ? outcome.revision : null;
    await clock.advance(10);
  }
  // Events are read from the current state of the group when the reader asks for them.
  const cursors = [await watch.next(), await watch.next(), await watch.next()].map(
    ({ value }) => (value as { cursor: number }).cursor,
  );
  expect(cursors).toEqual([2, 3, 4]);
  const waiting = watch.next();
  await clock.advance(0);
  expect(await stateOf(waiting)).toBe("pending");
  await watch.return?.();
});

test.each([
  ["watch", (engine: Engine) => watchGroup(engine, "g", 1, [])],
  ["watchMany", (engine: Engine) => flat(watchMany(engine, [{ groupId: "g", cursor: 1 }], []))],
])("with %s, a record that changes during the fresh read causes no RESYNC", async (_name, open) => {
  const { engine, clock, store } = await setUp("g");
  const group = engine.obtain("g");
  const events: LeadershipEvent[] = [...group.record.events];
  /** Elections after the last one: the record is known at once, and the feed brings the history later. */
  const move = (revision: number) => {
    let { record } = group;
    for (let i = 0; i < EVENTS_IN_RECORD; i++) {
      const change = beginTerm(record, HOLDER, 1010, { wallMs: 0 });
      events.push(...change.events);
      record = change.next;
    }
    group.observeRecord({ key: "r/g", value: encodeRecord(record), revision }, 0);
  };
  const bringHistory = (revision: number) => {
    const { eventNumber, events: own } = group.record;
    const kept = events.filter(({ number }) => number <= eventNumber - own.length);
    group.observeHistory({ key: "h/g", value: encodeHistory({ events: kept, acts: [] }), revision });
  };
  move(100);
  move(101);
  const rounds = [
    () => {
      bringHistory(102);
      move(103);
    },
    () => bringHistory(104),
  ];
  store.sync = () => {
    rounds.shift()?.();
    return Promise.resolve(0);
  };
  const watch = open(engine)[Symbol.asyncIterator]();
  const next = watch.next();
  await clock.advance(10);
  expect((await next).value).toMatchObject({ type: "LEADER_CHANGED", cursor: 2 });
  expect(rounds).toEqual([]);
  await watch.return?.(undefined);
});

test("each iteration of a watch is independent", async () => {
  const { engine } = await setUp("g");
  const events = watchGroup(engine, "g", 0, []);
  for (let i = 0; i < 2; i++) {
    const watch = events[Symbol.asyncIterator]();
    expect((await watch.next()).value).toMatchObject({ cursor: 1 });
    await watch.return?.();
  }
});

test("each signal of a watch ends it with that signal's reason", async () => {
  const { engine, clock } = await setUp("g");
  for (const index of [0, 1]) {
    const controllers = [new AbortController(), new AbortController()];
    const signals = controllers.map(({ signal }) => signal);
    const failure = failureOf(watchGroup(engine, "g", 1, signals)[Symbol.asyncIterator]().next());
    await clock.advance(0);
    const reason = new ClosedError(`signal ${index}`);
    controllers[index]?.abort(reason);
    expect(await failure).toBe(reason);
    expect(engine.groups.get("g")?.watchers).toBeNull();
  }
});

test("a watch of an unknown group waits, and is dropped with the group when it ends", async () => {
  const { engine, clock } = await setUp();
  const watch = watchGroup(engine, "unknown", undefined, [])[Symbol.asyncIterator]();
  expect((await watch.next()).value).toMatchObject({
    type: "LEADER_LOST",
    cursor: 0,
    term: 0,
    reason: "none",
  });
  expect(engine.groups.size).toBe(1);
  const next = watch.next();
  await clock.advance(0);
  expect(await stateOf(next)).toBe("pending");
  await watch.return?.();
  expect(engine.groups.size).toBe(0);
});
