/** Shared by the fault tests: a feed that is reopened whenever it breaks, writers that never give up, a checker. */
import assert from "node:assert/strict";
import { waitLimitMs } from "@tenure/engines";
import { scheduler } from "node:timers/promises";
import {
  BackendUnavailableError,
  type CasOutcome,
  type Entry,
  type Revision,
  type Store,
} from "@tenure/core";

const POLL_MS = 20;

interface Swap {
  readonly key: string;
  readonly expected: Revision | null;
  readonly revision: Revision;
}

/** Repeats `check` until it is true; an error of `check` is reported if it never is. */
export async function eventually<T>(
  what: string,
  limitMs: number,
  check: () => Promise<T | false>,
): Promise<T> {
  const giveUpMs = performance.now() + waitLimitMs(limitMs);
  for (let failure: unknown; ;) {
    try {
      const found = await check();
      if (found !== false) return found;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > giveUpMs) throw new Error(`never came: ${what}`, { cause: failure });
    await scheduler.wait(POLL_MS);
  }
}

/** Follows a store as an elector does. */
export class Follower {
  readonly seen: Map<string, Entry> = new Map();
  readonly breaks: unknown[] = [];
  progress: Revision = 0;
  readonly #store: Store;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  constructor(store: Store) {
    this.#store = store;
    this.#done = this.#follow();
  }

  reach(revision: Revision, limitMs = 20_000): Promise<boolean> {
    return eventually(`a feed at ${revision}`, limitMs, () => Promise.resolve(this.progress >= revision));
  }

  /** The progress rule for an acknowledged write: it was delivered, once progress is at or past it. */
  judge({ key, revision }: Swap): void {
    const shown = this.seen.get(key)?.revision ?? 0;
    assert(
      revision > this.progress || shown >= revision,
      `${key} at ${revision} was acknowledged, progress is ${this.progress}, shown is ${shown}`,
    );
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #follow(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        for await (const { kind, entries, revision } of this.#store.feed({ signal: this.#stop.signal })) {
          assert(revision >= this.progress, `the feed went back from ${this.progress} to ${revision}`);
          this.#check(kind, entries);
          for (const entry of entries) this.seen.set(entry.key, entry);
          this.progress = revision;
        }
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        if (!(error instanceof BackendUnavailableError)) throw error;
        this.breaks.push(error);
        await scheduler.wait(POLL_MS);
      }
    }
  }

  #check(kind: "snapshot" | "changes", entries: readonly Entry[]): void {
    for (const { key, revision } of entries) {
      const before = this.seen.get(key)?.revision ?? 0;
      const isLater = kind === "snapshot" ? revision >= before : revision > before;
      assert(isLater, `${key} at ${revision} came after ${before}`);
    }
    if (kind === "changes") return;
    const keys = new Set(entries.map(({ key }) => key));
    for (const key of this.seen.keys()) assert(keys.has(key), `${key} is gone`);
  }
}

/**
 * Writers that contend for the same keys through all stores until they are stopped; every acknowledged swap is kept.
 */
export class Contest {
  readonly swaps: Swap[] = [];
  uncertain = 0;
  rejected = 0;
  readonly #followers: readonly Follower[];
  readonly #writers: Promise<void>[];
  #isOver = false;

  constructor(
    stores: readonly Store[],
    keys: readonly string[],
    writersPerStore: number,
    followers: readonly Follower[] = [],
  ) {
    this.#followers = followers;
    this.#writers = stores.flatMap((store, i) =>
      Array.from({ length: writersPerStore }, (_, j) => this.#write(store, keys, `${i}.${j}`)),
    );
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#writers);
  }

  /** Resolves after `count` more acknowledged swaps. */
  more(count: number, limitMs: number): Promise<boolean> {
    const goal = this.swaps.length + count;
    return eventually(`${count} more swaps`, limitMs, () => Promise.resolve(this.swaps.length >= goal));
  }

  /**
   * Of two acknowledged swaps of a key the later has replaced the earlier or something after it. So none was lost, and
   * two against the same revision cannot both have won.
   */
  check(final: ReadonlyMap<string, Entry>): void {
    for (const swap of this.swaps) for (const follower of this.#followers) follower.judge(swap);
    for (const key of new Set(this.swaps.map((swap) => swap.key))) {
      const chain = this.swaps.filter((swap) => swap.key === key).sort((a, b) => a.revision - b.revision);
      let before = 0;
      for (const { expected, revision } of chain) {
        assert(
          (expected ?? 0) >= before,
          `${key} at ${revision} replaced ${expected}, after ${before} was acknowledged`,
        );
        assert(revision > (expected ?? 0), `${key} went back from ${expected} to ${revision}`);
        before = revision;
      }
      assert((final.get(key)?.revision ?? 0) >= before, `${key} at ${before} was acknowledged, and is lost`);
    }
  }

  async #write(store: Store, keys: readonly string[], name: string): Promise<void> {
    const seen = new Map<string, Revision | null>();
    for (let i = 0; !this.#isOver; i++) {
      const batch = keys.map((key) => ({ key, expected: seen.get(key) ?? null, value: `${name}/${i}` }));
      const outcomes = await store.compareAndSet(batch).catch((error: unknown) => {
        assert(error instanceof BackendUnavailableError, String(error));
        this.rejected++;
        return null;
      });
      if (outcomes === null) await scheduler.wait(POLL_MS);
      for (const [j, outcome] of (outcomes ?? []).entries())
        this.#take(batch[j] as (typeof batch)[number], outcome, seen, `${name}/${i}`);
    }
  }

  #take(
    { key, expected }: Omit<Swap, "revision">,
    outcome: CasOutcome,
    seen: Map<string, Revision | null>,
    value: string,
  ): void {
    if (outcome.kind === "uncertain") {
      // Seen by the next attempt, which loses and is shown the current entry.
      this.uncertain++;
      seen.delete(key);
    } else if (outcome.kind === "swapped") {
      const swap = { key, expected, revision: outcome.revision };
      this.swaps.push(swap);
      for (const follower of this.#followers) follower.judge(swap);
      seen.set(key, outcome.revision);
    } else {
      assert.notEqual(outcome.current?.value, value, "lost against one's own write");
      seen.set(key, outcome.current?.revision ?? null);
    }
  }
}

export async function snapshotOf(store: Store): Promise<Map<string, Entry>> {
  for await (const { entries } of store.feed()) return new Map(entries.map((entry) => [entry.key, entry]));
  throw new Error("a feed ended without a word");
}

export async function swapped(
  store: Store,
  key: string,
  expected: Revision | null,
  value: string,
): Promise<Revision> {
  const [outcome] = await store.compareAndSet([{ key, expected, value }]);
  assert(outcome?.kind === "swapped", JSON.stringify(outcome));
  return outcome.revision;
}
