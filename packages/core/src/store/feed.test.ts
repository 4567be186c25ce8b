import { describe, expect, test } from "vitest";
import { BackendUnavailableError } from "../errors.js";
import { Feed } from "./feed.js";
import { FeedHub } from "./feed-hub.js";
import type { Entry, FeedItem } from "./store.js";

const entry = (key: string, revision: number): Entry => ({ key, value: `${key}${revision}`, revision });

/** A hub over a log of writes. */
function openHub() {
  const latest = new Map<string, Entry>();
  let revision = 0;
  const hub = new FeedHub(() => ({ entries: [...latest.values()], revision }));
  const write = (...keys: string[]) => {
    const entries = keys.map((key) => entry(key, ++revision));
    for (const each of entries) latest.set(each.key, each);
    hub.publish(entries, revision);
  };
  return { hub, write };
}

function read(hub: FeedHub, signal?: AbortSignal, maxBufferedEntries = 100): Feed {
  const follow = async (feed: Feed, until: AbortSignal): Promise<void> => hub.join(feed, until);
  return new Feed({ follow, onEnd: () => {}, signal, maxBufferedEntries });
}

async function item(reader: Feed): Promise<FeedItem> {
  const result = await reader.next();
  if (result.done === true) throw new Error("the feed is done");
  return result.value;
}

describe("FeedHub", () => {
  test("a feed is a snapshot as of its first next(), then each change", async () => {
    const { hub, write } = openHub();
    write("a");
    const reader = read(hub);
    write("b");
    expect(await item(reader)).toEqual({
      kind: "snapshot",
      entries: [entry("a", 1), entry("b", 2)],
      revision: 2,
    });
    const waiting = item(reader);
    write("a");
    expect(await waiting).toEqual({ kind: "changes", entries: [entry("a", 3)], revision: 3 });
  });

  test("a write right after the snapshot was requested is a change", async () => {
    const { hub, write } = openHub();
    const reader = read(hub);
    const first = item(reader);
    write("a");
    expect((await first).entries).toEqual([]);
    expect(await item(reader)).toEqual({ kind: "changes", entries: [entry("a", 1)], revision: 1 });
  });

  test("writes that a slow reader has not read arrive as one item, in order", async () => {
    const { hub, write } = openHub();
    const reader = read(hub);
    await item(reader);
    write("a");
    write("b", "c");
    write("a");
    expect(await item(reader)).toEqual({
      kind: "changes",
      entries: [entry("a", 1), entry("b", 2), entry("c", 3), entry("a", 4)],
      revision: 4,
    });
  });

  test("several pending next() calls are served one after the other", async () => {
    const { hub, write } = openHub();
    const reader = read(hub);
    await item(reader);
    const waiting = [item(reader), item(reader)];
    write("a");
    write("b");
    expect((await Promise.all(waiting)).map(({ revision }) => revision)).toEqual([1, 2]);
  });

  test("a reader far behind gets only the latest value of each key, in revision order", async () => {
    const { hub, write } = openHub();
    const [slow, quick] = [read(hub, undefined, 3), read(hub)];
    await Promise.all([item(slow), item(quick)]);
    for (const key of ["a", "b", "b", "a", "c"]) {
      write(key);
      await item(quick);
    }
    const latest = [entry("b", 3), entry("a", 4), entry("c", 5)];
    expect(await item(slow)).toEqual({ kind: "changes", entries: latest, revision: 5 });
  });

  test("a reader that never reads buffers at most twice the number of keys", async () => {
    const { hub, write } = openHub();
    const slow = read(hub, undefined, 3);
    await item(slow);
    for (let i = 0; i < 1000; i++) write(`k${i % 7}`);
    const { entries, revision } = await item(slow);
    expect(revision).toBe(1000);
    expect(entries.length).toBeLessThanOrEqual(14);
    expect(new Map(entries.map(({ key, revision }) => [key, revision]))).toEqual(
      new Map(Array.from({ length: 7 }, (_, i) => [`k${(993 + i) % 7}`, 994 + i])),
    );
  });

  test("an abort ends a waiting reader with the reason, and leaves no listener behind", async () => {
    const { hub, write } = openHub();
    const controller = new AbortController();
    const reader = read(hub, controller.signal);
    await item(reader);
    const waiting = [reader.next(), reader.next()];
    const reason = new Error("enough");
    controller.abort(reason);
    await expect(waiting[0]).rejects.toBe(reason);
    expect(await waiting[1]).toEqual({ done: true, value: undefined });
    expect(hub.size).toBe(0);
    write("a");
    expect((await reader.next()).done).toBe(true);
  });

  test("an abort between two next() calls rejects the second, whatever was buffered", async () => {
    const { hub, write } = openHub();
    const controller = new AbortController();
    const reader = read(hub, controller.signal);
    await item(reader);
    write("a");
    controller.abort(new Error("enough"));
    await expect(reader.next()).rejects.toThrow("enough");
    expect((await reader.next()).done).toBe(true);
  });

  test("return() ends a reader that waits", async () => {
    const { hub, write } = openHub();
    const reader = read(hub);
    await item(reader);
    const waiting = reader.next();
    expect((await reader.return()).done).toBe(true);
    expect((await waiting).done).toBe(true);
    expect(hub.size).toBe(0);
    write("a");
    expect((await reader.next()).done).toBe(true);
  });

  test("return() waits until the driver has released the feed", async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const follow = async (feed: Feed): Promise<void> => {
      feed.snapshot([], 1);
      await released;
    };
    const reader = new Feed({ follow, onEnd: () => {}, signal: undefined });
    await item(reader);
    let hasReturned = false;
    const returned = reader.return().then(() => (hasReturned = true));
    for (let i = 0; i < 20; i++) await Promise.resolve();
    expect(hasReturned).toBe(false);
    release();
    await returned;
  });

  test("wanted() resolves when the consumer waits, and when the feed ends", async () => {
    let sink: Feed | null = null;
    const follow = async (feed: Feed): Promise<void> => {
      sink = feed;
      feed.snapshot([], 1);
    };
    const reader = new Feed({ follow, onEnd: () => {}, signal: undefined });
    await item(reader);
    let count = 0;
    const ask = async (): Promise<void> => sink?.wanted().then(() => void count++);
    const first = ask();
    for (let i = 0; i < 20; i++) await Promise.resolve();
    expect(count).toBe(0);
    const waiting = item(reader);
    await first;
    reader.changes([entry("a", 2)], 2);
    expect((await waiting).revision).toBe(2);
    const second = ask();
    await reader.return();
    await second;
    expect(count).toBe(2);
  });

  test("fail() of the hub ends only the feeds that are open", async () => {
    const { hub, write } = openHub();
    const [open, unread] = [read(hub), read(hub)];
    await item(open);
    hub.fail(new BackendUnavailableError("the disk is gone"));
    await expect(open.next()).rejects.toThrow(BackendUnavailableError);
    write("a");
    expect((await item(unread)).kind).toBe("snapshot");
    await unread.return();
    expect(hub.size).toBe(0);
  });

  test("a snapshot that cannot be taken ends the feed with that reason", async () => {
    const hub = new FeedHub(() => {
      throw new BackendUnavailableError("not now");
    });
    const reader = read(hub);
    await expect(reader.next()).rejects.toThrow("not now");
    expect((await reader.next()).done).toBe(true);
    expect(hub.size).toBe(0);
  });

  test("progress without changes arrives as one item with the latest revision", async () => {
    const { hub, write } = openHub();
    const reader = read(hub);
    await item(reader);
    write("a");
    for (let revision = 2; revision <= 5; revision++) hub.publish([], revision);
    expect(await item(reader)).toEqual({ kind: "changes", entries: [entry("a", 1)], revision: 5 });
    for (let revision = 6; revision <= 9; revision++) hub.publish([], revision);
    expect(await item(reader)).toEqual({ kind: "changes", entries: [], revision: 9 });
  });

  test("the writes of one batch may share a revision", async () => {
    const { hub } = openHub();
    const reader = read(hub);
    await item(reader);
    hub.publish([entry("a", 2), entry("b", 2), entry("c", 4), entry("d", 4)], 4);
    expect((await item(reader)).entries).toHaveLength(4);
    expect(() => hub.publish([entry("e", 4)], 5)).toThrow(RangeError);
  });

  test("publishing revisions out of order throws a RangeError", () => {
    const { hub, write } = openHub();
    write("a", "b");
    expect(() => hub.publish([entry("a", 2)], 3)).toThrow(RangeError);
    expect(() => hub.publish([entry("a", 4), entry("b", 3)], 4)).toThrow(RangeError);
    expect(() => hub.publish([entry("a", 3)], 2)).toThrow(RangeError);
    hub.publish([], 9);
    expect(() => hub.publish([entry("a", 9)], 9)).toThrow(RangeError);
  });
});
