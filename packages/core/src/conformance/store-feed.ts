/** Laws of `feed`. */
import assert from "node:assert/strict";
import type { Entry, FeedItem, Revision, Store } from "../store/store.js";
import { checkProgress, FeedProbe, type Law, snapshot, swap, swapAll } from "./support.js";

export function feedLaws(law: Law): void {
  law("a feed begins with everything acknowledged before it was opened", async ({ store }) => {
    const first = new FeedProbe(store);
    assert.equal((await first.next()).entries.length, 0);
    await first.stop();
    const [a, b] = await swapAll(store, [
      { key: "r/a", expected: null, value: "1" },
      { key: "r/b", expected: null, value: "1" },
    ]);
    const a2 = await swap(store, "r/a", a as Revision, "2");
    const probe = new FeedProbe(store);
    const item = await probe.next();
    assert(item.revision >= a2);
    assert.deepEqual(
      item.entries.toSorted((x, y) => x.revision - y.revision),
      [
        { key: "r/b", value: "1", revision: b },
        { key: "r/a", value: "2", revision: a2 },
      ],
    );
    await probe.stop();
  });

  law("changes follow the snapshot in the order of their revisions", async ({ store }) => {
    const probe = new FeedProbe(store);
    await probe.next();
    const written: Entry[] = [];
    for (let i = 0; i < 30; i++) {
      const key = `r/${i % 3}`;
      const expected = written.findLast((entry) => entry.key === key)?.revision ?? null;
      written.push({ key, value: `${i}`, revision: await swap(store, key, expected, `${i}`) });
      // Read up to every second write, so that some items have one change and others may have several.
      if (i % 2 === 0) await probe.reach((written.at(-1) as Entry).revision);
    }
    await probe.reach((written.at(-1) as Entry).revision);
    checkProgress(probe.items, written);
    await probe.stop();
  });

  law("an open feed reaches every revision that sync returned, without another write", async ({ store }) => {
    const probe = new FeedProbe(store);
    await probe.reach(await store.sync());
    await swap(store, "r/a", null, "1");
    await probe.reach(await store.sync());
    await probe.reach(await store.sync());
    assert.equal(probe.seen.get("r/a")?.value, "1");
    await probe.stop();
  });

  law("no change between the snapshot and the first change is lost while others write", async ({ store }) => {
    const written: Entry[] = [];
    const writers = Array.from({ length: 4 }, (_, i) => keepWriting(store, `r/${i}`, 50, written));
    const probes: FeedProbe[] = [];
    for (let i = 0; i < 8; i++) {
      const probe = new FeedProbe(store);
      await probe.next();
      probes.push(probe);
    }
    await Promise.all(writers);
    const last = await store.sync();
    for (const probe of probes) {
      await probe.reach(last);
      checkProgress(probe.items, written);
      await probe.stop();
    }
  });

  law("a consumer that reads late gets the last value of each key", async ({ store }) => {
    const probe = new FeedProbe(store);
    await probe.next();
    const written: Entry[] = [];
    await Promise.all([0, 1, 2].map((i) => keepWriting(store, `r/${i}`, 100, written)));
    await probe.reach(await store.sync());
    checkProgress(probe.items, written);
    for (const entry of await snapshot(store)) assert.deepEqual(probe.seen.get(entry[0]), entry[1]);
    await probe.stop();
  });

  law(
    "feeds are independent: one that is not read or has ended does not delay another",
    async ({ store }) => {
      const resting = new FeedProbe(store);
      const ending = new FeedProbe(store);
      const reading = new FeedProbe(store);
      for (const probe of [resting, ending, reading]) await probe.next();
      const first = await swap(store, "r/a", null, "1");
      await ending.stop();
      const second = await swap(store, "r/a", first, "2");
      await reading.reach(second);
      await resting.reach(second);
      for (const probe of [resting, reading]) {
        assert.equal(probe.seen.get("r/a")?.value, "2");
        await probe.stop();
      }
    },
  );

  law(
    "a consumer that leaves its loop ends its feed, and a new feed starts with everything",
    async ({ store }) => {
      let present = await swap(store, "r/a", null, "0");
      const seen: string[] = [];
      for (let i = 1; i <= 5; i++) {
        for await (const item of store.feed()) {
          assert.equal(item.kind, "snapshot");
          seen.push((item.entries[0] as Entry).value);
          break;
        }
        present = await swap(store, "r/a", present, `${i}`);
      }
      assert.deepEqual(seen, ["0", "1", "2", "3", "4"]);
      assert.equal((await snapshot(store)).get("r/a")?.revision, present);
    },
  );

  law("a feed that its consumer has left is done", async ({ store }) => {
    const iterator = store.feed()[Symbol.asyncIterator]();
    await iterator.next();
    await iterator.return?.();
    assert.equal((await iterator.next()).done, true);
    const unread = store.feed()[Symbol.asyncIterator]();
    await unread.return?.();
    assert.equal((await unread.next()).done, true);
  });

  law("a feed aborted before it is read throws the reason", async ({ store }) => {
    const reason = new Error("no longer wanted");
    await assert.rejects(new FeedProbe(store, { signal: AbortSignal.abort(reason) }).next(), reason);
    const controller = new AbortController();
    const probe = new FeedProbe(store, { signal: controller.signal });
    controller.abort(reason);
    await assert.rejects(probe.next(), reason);
  });

  law("a feed aborted while it waits throws the reason, and delivers nothing more", async ({ store }) => {
    const controller = new AbortController();
    const reason = new Error("no longer wanted");
    const iterator = store.feed({ signal: controller.signal })[Symbol.asyncIterator]();
    await iterator.next();
    // Items already on their way come first (a store may report progress without changes).
    const reading = readOn(iterator);
    controller.abort(reason);
    await assert.rejects(reading, reason);
    await swap(store, "r/a", null, "1");
    const after = await iterator.next().catch((error: unknown) => error);
    assert(after === reason || (after as IteratorResult<FeedItem>).done === true);
  });
}

/** For stores that several processes open at once. */
export function sharedFeedLaws(law: Law): void {
  law("a feed shows what was written through another handle", async ({ store, another }) => {
    const other = await another();
    const probes = [new FeedProbe(store), new FeedProbe(other)];
    for (const probe of probes) await probe.next();
    const written: Entry[] = [];
    await Promise.all([
      keepWriting(store, "r/a", 40, written),
      keepWriting(other, "r/b", 40, written),
      keepWriting(store, "r/c", 40, written),
    ]);
    const last = await other.sync();
    for (const probe of probes) {
      await probe.reach(last);
      checkProgress(probe.items, written);
      await probe.stop();
    }
    assert.deepEqual(probes[0]?.seen, probes[1]?.seen);
  });
}

async function keepWriting(store: Store, key: string, times: number, written: Entry[]): Promise<void> {
  let present: Revision | null = null;
  for (let i = 0; i < times; i++) {
    present = await swap(store, key, present, `${i}`);
    written.push({ key, value: `${i}`, revision: present });
  }
}

async function readOn(iterator: AsyncIterator<FeedItem>): Promise<void> {
  for (;;) {
    const result = await iterator.next();
    assert(result.done !== true, "a feed never ends silently");
  }
}
