/** Shared by the suites of this folder. Nothing here knows a test runner. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type {
  CallOptions,
  CasOp,
  CasOutcome,
  Entry,
  FeedItem,
  Revision,
  Store,
  StoreFeatures,
} from "../store/store.js";

/** The signature of a test runner: `test` of vitest and of node:test fit. */
export type TestFunction = (name: string, run: () => Promise<void>) => void;

/** A store opened for one law, and ways to open the same data again. All handles are closed when the law is done. */
export interface Handles {
  readonly store: Store;
  /** A second handle on the same data, while the first is open. */
  readonly another: () => Promise<Store>;
  /** Closes every handle, then opens the same data again. */
  readonly reopen: () => Promise<Store>;
}

export type Law = (name: string, run: (handles: Handles) => Promise<void>) => void;

export function lawOf(
  test: TestFunction,
  open: (space: string) => Promise<Store>,
  dispose: (space: string) => Promise<void>,
): Law {
  return (name, run) =>
    test(name, async () => {
      const space = `conformance-${randomUUID()}`;
      const opened: Store[] = [];
      const another = async () => {
        const store = await open(space);
        opened.push(store);
        return store;
      };
      const closeAll = async () => {
        for (const store of opened.splice(0)) await store.close();
      };
      const reopen = async () => {
        await closeAll();
        return another();
      };
      try {
        await run({ store: await another(), another, reopen });
      } finally {
        await closeAll();
        await dispose(space);
      }
    });
}

/** Laws of stores with a feature. For a store that does not state the feature, the law checks that it is absent. */
export function lawIf(law: Law, feature: keyof StoreFeatures): Law {
  return (name, run) =>
    law(name, (handles) => (handles.store.features[feature] ? run(handles) : checkMissing(feature, handles)));
}

async function checkMissing(feature: keyof StoreFeatures, handles: Handles): Promise<void> {
  const { store, another, reopen } = handles;
  const revision = await swap(store, "r/a", null, "1");
  let found: Store;
  try {
    found = await (feature === "shared" ? another() : reopen());
  } catch {
    // A store that one process opens at a time refuses the second handle.
    return;
  }
  const entry = (await snapshot(found)).get("r/a");
  assert.notEqual(entry?.revision, revision, `the store is ${feature} and does not state it`);
}

/** A store may refuse without a cause. More refusals in a row than this mean that it does not work. */
export const REFUSALS_IN_A_ROW = 100;

/** Refused although the expected revision was right. */
export function isRefusal(outcome: CasOutcome | undefined, op: CasOp): boolean {
  return outcome?.kind === "conflict" && (outcome.current?.revision ?? null) === op.expected;
}

/** Writes operations that must succeed and returns their revisions. Refusals without a cause are sent again. */
export async function swapAll(store: Store, batch: readonly CasOp[]): Promise<Revision[]> {
  const revisions = batch.map(() => 0);
  let left = batch.map((op, index) => ({ op, index }));
  for (let attempt = 0; left.length > 0; attempt++) {
    assert(attempt < REFUSALS_IN_A_ROW, "the store refuses what nothing stands against");
    const outcomes = await store.compareAndSet(left.map(({ op }) => op));
    assert.equal(outcomes.length, left.length, "one outcome per operation");
    left = left.filter(({ op, index }, i) => {
      const outcome = outcomes[i];
      if (isRefusal(outcome, op)) return true;
      assert(outcome?.kind === "swapped", `${op.key} against ${op.expected}: ${describe(outcome)}`);
      revisions[index] = outcome.revision;
      return false;
    });
  }
  return revisions;
}

export async function swap(
  store: Store,
  key: string,
  expected: Revision | null,
  value: string,
): Promise<Revision> {
  return only(await swapAll(store, [{ key, expected, value }]));
}

/** Sends one operation that must fail, and returns the entry that the conflict shows. */
export async function conflict(store: Store, op: CasOp): Promise<Entry | null> {
  const outcome = only(await store.compareAndSet([op]));
  assert(outcome.kind === "conflict", `${op.key} against ${op.expected}: ${describe(outcome)}`);
  return outcome.current;
}

/** The whole content of the store, as a feed opened now shows it. */
export async function snapshot(store: Store): Promise<Map<string, Entry>> {
  const probe = new FeedProbe(store);
  await probe.next();
  await probe.stop();
  return probe.seen;
}

/**
 * Reads a feed, checks on every item what can be checked without knowing the writes, and keeps it for the rest. Keys
 * written by one batch may share a revision (an etcd transaction has one), so order is strict per key only.
 */
export class FeedProbe {
  readonly items: FeedItem[] = [];
  /** The latest entry of each key. */
  readonly seen: Map<string, Entry> = new Map();
  progress: Revision = 0;
  readonly #iterator: AsyncIterator<FeedItem>;
  /** The lowest revision that the next item may have. */
  #floor: Revision = 0;

  constructor(store: Store, options?: CallOptions) {
    this.#iterator = store.feed(options)[Symbol.asyncIterator]();
  }

  async next(): Promise<FeedItem> {
    const result = await this.#iterator.next();
    assert(result.done !== true, "a feed never ends silently");
    const item = result.value;
    assert.equal(item.kind, this.items.length === 0 ? "snapshot" : "changes", "a snapshot, then changes");
    assert(item.revision >= this.progress, `progress went back from ${this.progress} to ${item.revision}`);
    if (item.kind === "snapshot") this.#takeSnapshot(item);
    else this.#takeChanges(item);
    this.progress = item.revision;
    this.items.push(item);
    return item;
  }

  /** Reads until everything up to `revision` has been delivered. */
  async reach(revision: Revision): Promise<void> {
    while (this.items.length === 0 || this.progress < revision) await this.next();
  }

  async stop(): Promise<void> {
    await this.#iterator.return?.();
  }

  #takeSnapshot({ entries, revision }: FeedItem): void {
    for (const entry of entries) {
      assert(entry.revision <= revision, "a snapshot is as of its revision");
      assert(!this.seen.has(entry.key), `${entry.key} is twice in the snapshot`);
      this.seen.set(entry.key, entry);
    }
    this.#floor = revision + 1;
  }

  #takeChanges({ entries }: FeedItem): void {
    for (const entry of entries) {
      assert(
        entry.revision >= this.#floor,
        `${entry.key} at ${entry.revision} came when ${this.#floor} was due`,
      );
      const before = this.seen.get(entry.key)?.revision ?? 0;
      assert(entry.revision > before, `${entry.key} at ${entry.revision} was delivered after ${before}`);
      this.seen.set(entry.key, entry);
      this.#floor = entry.revision;
    }
  }
}

/**
 * The progress rule: once an item was delivered, so was, for each key, the last write at or below its revision or a
 * later one.
 */
export function checkProgress(items: readonly FeedItem[], acknowledged: readonly Entry[]): void {
  const writes = acknowledged.toSorted((a, b) => a.revision - b.revision);
  const delivered = new Map<string, Entry>();
  let next = 0;
  for (const item of items) {
    for (const entry of item.entries) delivered.set(entry.key, entry);
    for (; next < writes.length && (writes[next] as Entry).revision <= item.revision; next++) {
      const write = writes[next] as Entry;
      const shown = delivered.get(write.key);
      assert(
        shown !== undefined && shown.revision >= write.revision,
        `${write.key} at ${write.revision} was acknowledged, progress is ${item.revision}, shown is ${shown?.revision}`,
      );
      if (shown.revision === write.revision) assert.equal(shown.value, write.value);
    }
  }
}

export function only<T>(items: readonly T[]): T {
  assert.equal(items.length, 1);
  return items[0] as T;
}

export function describe(outcome: CasOutcome | undefined): string {
  if (outcome?.kind !== "uncertain") return JSON.stringify(outcome);
  return `uncertain: ${String(outcome.cause)}`;
}
