import { describe, expect, test } from "vitest";
import { BackendUnavailableError, ClosedError } from "../errors.js";
import { FeedHub } from "./feed-hub.js";
import type { Entry, FeedItem } from "./store.js";

const entry = (key: string, revision: number): Entry => ({ key, value: `${key}${revision}`, revision });

/** A hub over a log of writes. */
function openHub(bufferedEntries?: number) {
  const latest = new Map<string, Entry>();
  let revision = 0;
  const options = bufferedEntries === undefined ? {} : { bufferedEntries };
  const hub = new FeedHub(() => ({ entries: [...latest.values()], revision }), options);
  const write = (...keys: string[]) => {
    const entries = keys.map((key) => entry(key, ++revision));
    for (const each of entries) latest.set(each.key, each);
    hub.publish(entries, revision);
  };
  return { hub, write };
}

const read = (hub: FeedHub, signal?: AbortSignal) =>
  hub.feed(signal === undefined ? {} : { signal })[Symbol.asyncIterator]();

async function item(reader: AsyncIterator<FeedItem>): Promise<FeedItem> {
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

  test("a write right after the snapshot was asked for is a change", async () => {
    const { hub, write } = openHub();
    const reader = read(hub);
    const first = item(reader);
    write("a");
    expect((await first).entries).toEqual([]);
    expect(await item(reader)).toEqual({ kind: "changes", entries: [entry("a", 1)], revision: 1 });
  });

  test("writes that a slow reader did not ask for come as one item, in order", async () => {
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

  test("several waiting next() are served one after the other", async () => {
    const { hub, write } = openHub();
    const reader = read(hub);
    await item(reader);
    const waiting = [item(reader), item(reader)];
    write("a");
    write("b");
    expect((await Promise.all(waiting)).map(({ revision }) => revision)).toEqual([1, 2]);
  });

  test("a reader too far behind is ended, and its memory is freed", async () => {
    const { hub, write } = openHub(3);
    const [slow, quick] = [read(hub), read(hub)];
    await Promise.all([item(slow), item(quick)]);
    for (const key of ["a", "b", "c", "d", "e"]) {
      write(key);
      await item(quick);
    }
    expect(hub.size).toBe(1);
    await expect(slow.next()).rejects.toThrow(BackendUnavailableError);
    expect((await slow.next()).done).toBe(true);
    const again = read(hub);
    expect((await item(again)).entries).toHaveLength(5);
  });

  test("one write larger than the buffer ends nobody", async () => {
    const { hub, write } = openHub(2);
    const reader = read(hub);
    await item(reader);
    write("a", "b", "c", "d");
    expect((await item(reader)).entries).toHaveLength(4);
    write("e");
    expect((await item(reader)).entries).toHaveLength(1);
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

  test("an abort between two next() is told at the second, whatever was waiting", async () => {
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
    expect((await reader.return?.())?.done).toBe(true);
    expect((await waiting).done).toBe(true);
    expect(hub.size).toBe(0);
    write("a");
    expect((await reader.next()).done).toBe(true);
  });

  test("each loop over the same feed is a feed of its own", async () => {
    const { hub, write } = openHub();
    write("a");
    const feed = hub.feed();
    for (let round = 0; round < 2; round++) {
      for await (const { kind, entries } of feed) {
        expect([kind, entries.length]).toEqual(["snapshot", 1]);
        break;
      }
    }
    expect(hub.size).toBe(0);
  });

  test("close ends open, unread and later feeds with its reason; a break only the open ones", async () => {
    const { hub, write } = openHub();
    const [open, unread] = [read(hub), read(hub)];
    await item(open);
    hub.breakFeeds(new BackendUnavailableError("the disk is gone"));
    await expect(open.next()).rejects.toThrow(BackendUnavailableError);
    write("a");
    expect((await item(unread)).kind).toBe("snapshot");
    const late = read(hub);
    hub.close(new ClosedError("closed"));
    hub.close(new ClosedError("closed again"));
    for (const reader of [unread, late, read(hub)]) await expect(reader.next()).rejects.toThrow("closed");
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

  test("progress without changes is told once, as far as it has come", async () => {
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

  test("revisions out of order are a mistake of the store", () => {
    const { hub, write } = openHub();
    write("a", "b");
    expect(() => hub.publish([entry("a", 2)], 3)).toThrow(RangeError);
    expect(() => hub.publish([entry("a", 4), entry("b", 3)], 4)).toThrow(RangeError);
    expect(() => hub.publish([entry("a", 3)], 2)).toThrow(RangeError);
    hub.publish([], 9);
    expect(() => hub.publish([entry("a", 9)], 9)).toThrow(RangeError);
  });
});
