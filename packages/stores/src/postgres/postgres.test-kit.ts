/** For tests against real servers: reading the database, waiting for events, and keeping account of writes. */
import assert from "node:assert/strict";
import { scheduler } from "node:timers/promises";
import type { CasOp, CasOutcome, Entry, Revision, Store } from "@tenure/core";
import { waitLimitMs } from "@tenure/engines";
import { Client } from "pg";

const EVENTUALLY_MS = 30_000;
const POLL_MS = 10;

/** Runs SQL over its own connection. */
export async function sql(url: string, text: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
  const client = await connect(url);
  try {
    return (await client.query<Record<string, unknown>>(text, values)).rows ?? [];
  } finally {
    await client.end();
  }
}

export async function connect(url: string): Promise<Client> {
  const client = new Client(url);
  client.on("error", () => {});
  await client.connect();
  return client;
}

/** Repeats until the result is neither `undefined` nor `false`; an error counts as not yet. */
export async function eventually<T>(what: string, attempt: () => T | Promise<T>): Promise<T> {
  const giveUp = performance.now() + waitLimitMs(EVENTUALLY_MS);
  for (let failure: unknown; ; await scheduler.wait(POLL_MS)) {
    try {
      const result = await attempt();
      if (result !== undefined && result !== false) return result;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > giveUp) throw new Error(`${what} did not happen in time`, { cause: failure });
  }
}

/** Follows the feed as an elector does: opens another when one breaks. */
export class Follower {
  readonly entries: Map<string, Entry> = new Map();
  /** Why feeds broke. */
  readonly failures: unknown[] = [];
  progress: Revision = 0;
  readonly #store: Store;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  constructor(store: Store) {
    this.#store = store;
    this.#done = this.#follow();
  }

  reach(revision: Revision): Promise<boolean> {
    return eventually(`progress to ${revision}`, () => this.progress >= revision);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        for await (const { kind, entries, revision } of this.#store.feed({ signal })) {
          assert(revision >= this.progress, `the feed went back from ${this.progress} to ${revision}`);
          if (kind === "snapshot") this.entries.clear();
          for (const entry of entries) this.entries.set(entry.key, entry);
          this.progress = revision;
        }
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        if (!signal.aborted) this.failures.push(error);
      }
      await scheduler.wait(POLL_MS);
    }
  }
}

interface Write extends Entry {
  readonly expected: Revision | null;
}

/** Every acknowledged write, and whether together they are what one register per key would have done. */
class Ledger {
  readonly acknowledged: Write[] = [];
  /** Writes whose answer was lost. */
  readonly uncertain: Omit<Write, "revision">[] = [];

  record(op: CasOp, outcome: CasOutcome): void {
    if (outcome.kind === "swapped") this.acknowledged.push({ ...op, revision: outcome.revision });
    if (outcome.kind === "uncertain") this.uncertain.push(op);
  }

  /** `last` is the whole content of the store, after all writers have stopped. */
  check(last: ReadonlyMap<string, Entry>): void {
    for (const key of new Set(this.acknowledged.map((write) => write.key))) {
      const writes = this.acknowledged.filter((write) => write.key === key);
      writes.sort((a, b) => a.revision - b.revision);
      for (const [i, { revision, expected }] of writes.entries()) {
        const before = writes[i - 1]?.revision ?? null;
        const told = `${key} at ${revision} replaced ${expected}, and ${before} had been acknowledged`;
        // Between the two there may be one write whose answer was lost; no acknowledged write may be missing.
        assert((expected ?? 0) >= (before ?? 0), told);
        assert(revision > (expected ?? 0), told);
      }
      const [final, newest] = [last.get(key), writes.at(-1)];
      assert(final !== undefined && newest !== undefined);
      assert(final.revision >= newest.revision, `${key}: ${newest.revision} was acknowledged and is lost`);
      if (final.revision === newest.revision) assert.equal(final.value, newest.value);
      else assert(this.uncertain.some((op) => op.key === key && op.value === final.value));
    }
  }
}

/** Writes keys repeatedly, each against what it saw last, until it is stopped; like servers, through any failure. */
export class Writers {
  readonly ledger: Ledger = new Ledger();
  /** Calls that the store refused as a whole. */
  refused = 0;
  readonly #stop = new AbortController();
  readonly #done: Promise<unknown>;

  constructor(stores: readonly Store[], keys: readonly string[], writersPerKey: number) {
    const all = stores.flatMap((store, i) =>
      keys.flatMap((key) =>
        Array.from({ length: writersPerKey }, (_, j) => this.#write(store, key, `${i}/${j}`)),
      ),
    );
    this.#done = Promise.all(all);
  }

  /** Waits until `more` writes are acknowledged from now on. */
  async acknowledge(more: number): Promise<void> {
    const goal = this.ledger.acknowledged.length + more;
    await eventually(`${more} more writes`, () => this.ledger.acknowledged.length >= goal);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #write(store: Store, key: string, name: string): Promise<void> {
    let expected: Revision | null = null;
    for (let i = 0; !this.#stop.signal.aborted; i++) {
      const op: CasOp = { key, expected, value: `${name}/${i}` };
      const outcome = await this.#send(store, op);
      if (outcome === null) {
        this.refused++;
        await scheduler.wait(POLL_MS);
        continue;
      }
      this.ledger.record(op, outcome);
      if (outcome.kind === "swapped") expected = outcome.revision;
      if (outcome.kind !== "conflict") continue;
      // Only this writer writes these values: its own write must not look like another's.
      const isOwn = outcome.current?.value === op.value;
      assert(!isOwn, `${key}: a conflict shows the very write that it refuses`);
      expected = outcome.current?.revision ?? null;
    }
  }

  /** `null`: refused, nothing was written. */
  async #send(store: Store, op: CasOp): Promise<CasOutcome | null> {
    try {
      const [outcome] = await store.compareAndSet([op], { signal: AbortSignal.timeout(2000) });
      return outcome as CasOutcome;
    } catch {
      return null;
    }
  }
}

/** The whole content of the store. */
export async function contents(store: Store): Promise<Map<string, Entry>> {
  for await (const { entries } of store.feed()) return new Map(entries.map((entry) => [entry.key, entry]));
  throw new Error("the feed ended without a snapshot");
}

export async function only(outcomes: Promise<CasOutcome[]>): Promise<CasOutcome> {
  const [outcome, ...rest] = await outcomes;
  assert(outcome !== undefined && rest.length === 0);
  return outcome;
}

/** Writes an operation that must succeed. */
export async function swap(
  store: Store,
  key: string,
  expected: Revision | null,
  value: string,
): Promise<Revision> {
  const outcome = await only(store.compareAndSet([{ key, expected, value }]));
  assert(outcome.kind === "swapped", JSON.stringify(outcome));
  return outcome.revision;
}
