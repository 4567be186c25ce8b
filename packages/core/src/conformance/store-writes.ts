/** Laws of `compareAndSet` and `sync`. */
import assert from "node:assert/strict";
import { InvalidRequestError } from "../errors.js";
import type { CasOp, Revision } from "../store/store.js";
import {
  conflict,
  describe,
  isRefusal,
  type Law,
  only,
  REFUSALS_IN_A_ROW,
  snapshot,
  swap,
  swapAll,
} from "./support.js";

/** No engine's limit by chance: more than etcd's 128 operations where the store admits it. */
const LARGE_BATCH = 1000;

/** All characters of ids, and what paths, subjects and prefixes could trip over. */
const KEYS = [
  "r/ABCDEFGHIJKLMNOPQRSTUVWXYZ",
  "r/abcdefghijklmnopqrstuvwxyz",
  "r/0123456789",
  "r/._:/-",
  "r/a",
  "r/A",
  "r/a/b",
  "r/a//b",
  "r/a/",
  "r//a",
  "r/a.b",
  "r/a:b",
  "r/a_b",
  "r/a-b",
  "r/./a",
  "r/../a",
  "r/a/../b",
  "r/...",
  "h/a",
  "r",
  "a",
  `r/${"long-id.".repeat(25)}`,
];

const VALUES = [
  "",
  " ",
  "null",
  JSON.stringify({ term: 7, holder: "node-a" }),
  "äöü ñ 漢字 עברית \u{1F980}\u{1F469}\u200D\u{1F680} e\u0301 \uFEFF \uFFFD",
  "line\r\nline\ttab\u0001\u007F\u2028 'quote' \"double\" \\ $1 %s",
  "x".repeat(8192),
  "\u{1F980}".repeat(2048),
];

export function writeLaws(law: Law): void {
  law("an absent key is created once, and the second writer is shown the entry", async ({ store }) => {
    const revision = await swap(store, "r/a", null, "first");
    assert(Number.isSafeInteger(revision) && revision > 0);
    const current = await conflict(store, { key: "r/a", expected: null, value: "second" });
    assert.deepEqual(current, { key: "r/a", value: "first", revision });
  });

  law("a key is replaced only against its present revision", async ({ store }) => {
    const first = await swap(store, "r/a", null, "1");
    const second = await swap(store, "r/a", first, "2");
    assert(second > first);
    for (const expected of [null, first, second + 1, Number.MAX_SAFE_INTEGER]) {
      const current = await conflict(store, { key: "r/a", expected, value: "3" });
      assert.deepEqual(current, { key: "r/a", value: "2", revision: second });
    }
    assert.equal(await conflict(store, { key: "r/b", expected: second, value: "3" }), null);
    assert.deepEqual([...(await snapshot(store)).keys()], ["r/a"]);
  });

  law("operations of a batch win and lose on their own, each answered in its place", async ({ store }) => {
    const [a, b] = await swapAll(store, [
      { key: "r/a", expected: null, value: "a1" },
      { key: "r/b", expected: null, value: "b1" },
    ]);
    const losing = [
      { key: "r/a", expected: null, value: "a2" },
      { key: "r/d", expected: a as Revision, value: "d1" },
    ] as const;
    let winning: CasOp[] = [
      { key: "r/c", expected: null, value: "c1" },
      { key: "r/b", expected: b as Revision, value: "b2" },
    ];
    // Those that lose come along each time: no store may hold that against the others.
    for (let attempt = 0; winning.length > 0; attempt++) {
      assert(attempt < REFUSALS_IN_A_ROW, "what loses keeps the others from winning");
      const outcomes = await store.compareAndSet([losing[0], ...winning, losing[1]]);
      assert.equal(outcomes.length, winning.length + 2);
      assert.deepEqual(outcomes[0], { kind: "conflict", current: { key: "r/a", value: "a1", revision: a } });
      assert.deepEqual(outcomes.at(-1), { kind: "conflict", current: null });
      winning = winning.filter((op, i) => {
        const outcome = outcomes[i + 1];
        assert(outcome?.kind === "swapped" || isRefusal(outcome, op), describe(outcome));
        return outcome?.kind !== "swapped";
      });
    }
    const values = [...(await snapshot(store)).values()].map(({ value }) => value);
    assert.deepEqual(new Set(values), new Set(["a1", "b2", "c1"]));
  });

  law("revisions rise over all keys, from batch to batch", async ({ store }) => {
    const present = new Map<string, Revision>();
    let highest = 0;
    for (let round = 0; round < 20; round++) {
      const keys = Array.from({ length: 1 + (round % 5) }, (_, i) => `r/${(round + i) % 7}`);
      const batch = keys.map((key) => ({ key, expected: present.get(key) ?? null, value: `${round}` }));
      const revisions = await swapAll(store, batch);
      for (const [i, revision] of revisions.entries()) {
        assert(revision > highest, `revision ${revision} came after a batch that had ${highest}`);
        present.set(keys[i] as string, revision);
      }
      highest = Math.max(highest, ...revisions);
      await conflict(store, { key: keys[0] as string, expected: null, value: "never" });
    }
  });

  law("a batch that names a key twice is refused, and nothing of it is written", async ({ store }) => {
    const op = { key: "r/a", expected: null, value: "1" };
    const batch = [{ key: "r/b", expected: null, value: "1" }, op, { ...op, value: "2" }];
    await assert.rejects(store.compareAndSet(batch), InvalidRequestError);
    assert.equal((await snapshot(store)).size, 0);
  });

  law("a batch that can never be right is refused, and nothing of it is written", async ({ store }) => {
    const op = { key: "r/a", expected: null, value: "1" };
    const wrong: CasOp[] = [
      { ...op, key: "" },
      { ...op, key: "r/\0" },
      { ...op, key: "r/\uD800" },
      { ...op, value: "\uDC00" },
      ...[0, -1, 1.5, Number.NaN, 2 ** 53].map((expected) => ({ ...op, expected })),
    ];
    for (const bad of wrong) {
      const batch = [{ key: "r/b", expected: null, value: "1" }, bad];
      await assert.rejects(store.compareAndSet(batch), InvalidRequestError, JSON.stringify(bad));
    }
    assert.equal((await snapshot(store)).size, 0);
  });

  law(
    "a value as long as the store admits is written, and a batch with a longer one is refused as a whole",
    async ({ store }) => {
      const { valueBytes } = store.limits;
      // Two bytes a character: bytes count, not characters.
      const longest = "é".repeat(Math.floor(valueBytes / 2));
      const others = ["r/b", "r/c"].map((key) => ({ key, expected: null, value: "1" }));
      const longer = { key: "r/a", expected: null, value: `${longest}éé` };
      for (const batch of [[longer], [...others, longer], [longer, ...others]]) {
        await assert.rejects(store.compareAndSet(batch), InvalidRequestError);
      }
      assert.equal((await snapshot(store)).size, 0);
      await swapAll(store, others);
      await swap(store, "r/a", null, longest);
      const found = await snapshot(store);
      assert.equal(found.size, 3);
      assert(found.get("r/a")?.value === longest, "the longest value came back changed");
    },
  );

  law(
    "a key as long as the store admits is written, and a batch with a longer one is refused as a whole",
    async ({ store }) => {
      const longest = `r/${"k".repeat(store.limits.keyLength - 2)}`;
      const other = { key: "r/b", expected: null, value: "1" };
      const longer = { key: `${longest}k`, expected: null, value: "1" };
      for (const batch of [[longer], [other, longer]]) {
        await assert.rejects(store.compareAndSet(batch), InvalidRequestError);
      }
      assert.equal((await snapshot(store)).size, 0);
      await swap(store, longest, null, "1");
      assert.deepEqual([...(await snapshot(store)).keys()], [longest]);
    },
  );

  law("a batch larger than the store admits is refused, and nothing of it is written", async ({ store }) => {
    const batch = Array.from({ length: store.limits.batchOps + 1 }, (_, i) => {
      return { key: `r/${i}`, expected: null, value: "1" };
    });
    await assert.rejects(store.compareAndSet(batch), InvalidRequestError);
    assert.equal((await snapshot(store)).size, 0);
  });

  law("an empty batch is answered with nothing", async ({ store }) => {
    assert.deepEqual(await store.compareAndSet([]), []);
  });

  law("a batch as large as the store admits is written whole", async ({ store }) => {
    const size = Math.min(LARGE_BATCH, store.limits.batchOps);
    const keys = Array.from({ length: size }, (_, i) => `r/group-${i}`);
    const created = await swapAll(
      store,
      keys.map((key) => ({ key, expected: null, value: `${key} 1` })),
    );
    const renewed = await swapAll(
      store,
      keys.map((key, i) => ({ key, expected: created[i] as Revision, value: `${key} 2` })),
    );
    const entries = await snapshot(store);
    assert.equal(entries.size, size);
    for (const [i, key] of keys.entries()) {
      assert.deepEqual(entries.get(key), { key, value: `${key} 2`, revision: renewed[i] });
    }
  });

  law("values come back as they were written", async ({ store }) => {
    const batch = VALUES.map((value, i) => ({ key: `r/${i}`, expected: null, value }));
    await swapAll(store, batch);
    const entries = await snapshot(store);
    for (const { key, value } of batch) {
      assert.equal(entries.get(key)?.value, value);
      const current = await conflict(store, { key, expected: null, value: "never" });
      assert.equal(current?.value, value);
    }
  });

  law("keys that differ in any admitted character are different keys", async ({ store }) => {
    const batch = KEYS.map((key) => ({ key, expected: null, value: `value of ${key}` }));
    await swapAll(store, batch);
    const entries = await snapshot(store);
    assert.deepEqual(new Set(entries.keys()), new Set(KEYS));
    for (const { key, value } of batch) assert.equal(entries.get(key)?.value, value);
  });

  law("sync is at or above every write acknowledged before it", async ({ store }) => {
    let present: Revision | null = null;
    for (let i = 0; i < 20; i++) {
      present = await swap(store, "r/a", present, `${i}`);
      assert((await store.sync()) >= present);
    }
    const pairs = Array.from({ length: 50 }, async (_, i) => {
      const revision = only(await swapAll(store, [{ key: `r/${i}`, expected: null, value: "1" }]));
      assert((await store.sync()) >= revision);
    });
    await Promise.all(pairs);
  });

  law("what a conflict has shown is at or below the next sync, and in the next feed", async ({ store }) => {
    for (let i = 0; i < 10; i++) {
      const key = `r/${i}`;
      // Both at once: the loser may be shown an entry that is still being written.
      const racers = ["1", "2"].map(async (value) => {
        const outcome = only(await store.compareAndSet([{ key, expected: null, value }]));
        if (outcome.kind !== "conflict" || outcome.current === null) return;
        const { revision } = outcome.current;
        assert((await store.sync()) >= revision, `sync is below ${revision}, which a conflict has shown`);
        assert(((await snapshot(store)).get(key)?.revision ?? 0) >= revision);
      });
      await Promise.all(racers);
    }
  });
}

/** For stores that several processes open at once. */
export function sharedWriteLaws(law: Law): void {
  law("sync is at or above every write acknowledged to another handle", async ({ store, another }) => {
    const other = await another();
    let present: Revision | null = null;
    for (let i = 0; i < 20; i++) {
      const [writer, reader] = i % 2 === 0 ? [store, other] : [other, store];
      present = await swap(writer, "r/a", present, `${i}`);
      assert((await reader.sync()) >= present);
      const current = await conflict(reader, { key: "r/a", expected: null, value: "never" });
      assert.deepEqual(current, { key: "r/a", value: `${i}`, revision: present });
    }
  });
}
