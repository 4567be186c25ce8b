import { expect, test } from "vitest";
import type { WatchManyItem } from "../elector-admin.js";
import { MemoryStore } from "../store/memory-store.js";
import { StoreElector } from "./store-elector.js";
import { A, B, claimOf, failureOf, inWorld, type World } from "./world.test-kit.js";

type Many = AsyncIterator<readonly WatchManyItem[]>;

function many(elector: StoreElector, watches: Parameters<StoreElector["watchMany"]>[0]): Many {
  return elector.watchMany(watches)[Symbol.asyncIterator]();
}

/** `group TYPE cursor`, or `group CODE`. */
function spell(item: WatchManyItem): string {
  return "error" in item
    ? `${item.groupId} ${item.error.code}`
    : `${item.groupId} ${item.type} ${item.cursor}`;
}

async function next(w: World, watch: Many): Promise<string[]> {
  const { value } = await w.until(watch.next());
  return (value.value as readonly WatchManyItem[]).map(spell);
}

test(
  "a watch of many groups delivers all states first, then the events of each group in order",
  inWorld(async (w) => {
    const { elector } = w.server();
    await elector.campaign(A);
    const watch = many(elector, [{ groupId: "g" }, { groupId: "h" }]);
    expect(await next(w, watch)).toEqual(["g LEADER_CHANGED 1", "h LEADER_LOST 0"]);
    await elector.resign(claimOf(A, 1));
    await elector.campaign(B);
    await elector.campaign({ ...A, groupId: "h" });
    expect(await next(w, watch)).toEqual(["g LEADER_LOST 2", "g LEADER_CHANGED 3", "h LEADER_CHANGED 1"]);
    await watch.return?.();
  }),
);

test(
  "each group resumes from its own cursor, and only a group whose cursor is too old gets a RESYNC",
  inWorld(async (w) => {
    const { elector } = w.server();
    for (let term = 1; term <= 40; term++) {
      await elector.campaign(A);
      await elector.resign(claimOf(A, term));
    }
    await elector.campaign({ ...A, groupId: "h" });
    const watch = many(elector, [
      { groupId: "g", cursor: 1 },
      { groupId: "h", cursor: 0 },
      { groupId: "i", cursor: 0 },
    ]);
    expect((await next(w, watch)).toSorted()).toEqual(["g RESYNC 80", "h LEADER_CHANGED 1"]);
    await elector.campaign({ ...A, groupId: "i" });
    expect(await next(w, watch)).toEqual(["i LEADER_CHANGED 1"]);
    await watch.return?.();
  }),
);

test(
  "a group that cannot be watched is refused on its own, and the other groups go on",
  inWorld(async (w) => {
    const { elector } = w.server({ explicitGroups: true });
    await w.until(elector.createGroup({ groupId: "g" }));
    const watch = many(elector, [{ groupId: "unknown" }, { groupId: "g" }, { groupId: "no id!" }]);
    expect((await next(w, watch)).toSorted()).toEqual([
      "g LEADER_LOST 0",
      "no id! INVALID_REQUEST",
      "unknown GROUP_NOT_FOUND",
    ]);
    await w.until(elector.campaign(A));
    expect(await next(w, watch)).toEqual(["g LEADER_CHANGED 1"]);
    // The group existed when the watch began, so its end is an event.
    await w.until(elector.deleteGroup({ groupId: "g", by: "ops", force: true }));
    expect(await next(w, watch)).toEqual(["g LEADER_LOST 2"]);
    await watch.return?.();
    await w.until(elector.close());
  }),
);

test(
  "an unreadable record ends the watch of its own group only",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await store.inner.compareAndSet([{ key: "r/g", expected: null, value: "not a record" }]);
    const watch = many(elector, [{ groupId: "g" }, { groupId: "h" }]);
    expect(await next(w, watch)).toEqual(["g BACKEND_UNAVAILABLE", "h LEADER_LOST 0"]);
    await elector.campaign({ ...A, groupId: "h" });
    expect(await next(w, watch)).toEqual(["h LEADER_CHANGED 1"]);
    await watch.return?.();
  }),
);

test(
  "a watch of many groups ends at once when its signal aborts, its reader leaves or its elector closes",
  inWorld(async (w) => {
    const { elector } = w.server();
    const aborting = new AbortController();
    const groups = [{ groupId: "g" }, { groupId: "h" }];
    const aborted = elector.watchMany(groups, { signal: aborting.signal })[Symbol.asyncIterator]();
    const left = many(elector, groups);
    const closed = many(elector, groups);
    for (const each of [aborted, left, closed]) await w.until(each.next());
    const failure = failureOf(aborted.next());
    aborting.abort(new Error("gone"));
    expect(await failure).toMatchObject({ message: "gone" });
    const waiting = left.next();
    await left.return?.();
    expect(await waiting).toEqual({ done: true, value: undefined });
    const ended = failureOf(closed.next());
    await w.until(elector.close());
    expect(await ended).toMatchObject({ code: "CLOSED" });
  }),
);

test(
  "a slow reader gets each kept event of a frequently changing group once",
  inWorld(async (w) => {
    const { elector } = w.server();
    const watch = many(elector, [{ groupId: "g", cursor: 0 }, { groupId: "h" }]);
    expect(await next(w, watch)).toEqual(["h LEADER_LOST 0"]);
    for (let term = 1; term <= 3; term++) {
      await elector.campaign(A);
      await elector.resign(claimOf(A, term));
    }
    const events = await next(w, watch);
    expect(events.map((each) => each.split(" ").at(-1))).toEqual(["1", "2", "3", "4", "5", "6"]);
    await watch.return?.();
  }),
);

test("a watch of a thousand groups opens and closes a part of them in each turn of the event loop", async () => {
  const elector = StoreElector.open({ store: new MemoryStore() });
  const count = 1000;
  const watch = many(
    elector,
    Array.from({ length: count }, (_, index) => ({ groupId: `g${index}` })),
  );
  const shown: number[] = [];
  while (shown.reduce((sum, each) => sum + each, 0) < count) {
    const { value } = (await watch.next()) as { value: readonly WatchManyItem[] };
    shown.push(value.length);
  }
  expect(Math.max(...shown)).toBeLessThanOrEqual(count / 5);
  let isClosed = false;
  const closing = watch.return?.().then(() => (isClosed = true));
  let turns = 0;
  for (; !isClosed; turns++) await new Promise((resolve) => setImmediate(resolve));
  await closing;
  expect(turns).toBeGreaterThanOrEqual(5);
  await elector.close();
});
