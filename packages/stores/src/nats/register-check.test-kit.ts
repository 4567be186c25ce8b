/** Writers that compare and set under faults, and the check of their answers. */
import assert from "node:assert/strict";
import { scheduler } from "node:timers/promises";
import { BackendUnavailableError, type CasOp, type Entry, type Revision, type Store } from "@tenure/core";
import { Random } from "@tenure/core/testing";

const KEYS = ["r/0", "r/1", "r/2", "r/3", "r/4", "r/5"];
const CALL_MS = 2000;
const PAUSE_MS = 20;

interface Write extends Entry {
  readonly replaced: Revision | null;
}

/** Each key is a register: the acknowledged writes are a chain in which each write replaced the one before it. */
export class RegisterCheck {
  readonly #acknowledged: Write[] = [];
  readonly #byReplaced = new Set<string>();
  readonly #revisions = new Set<Revision>();
  readonly #uncertain = new Set<string>();
  /** Calls that were refused as a whole, or left uncertain. */
  failures = 0;
  #highest: Revision = 0;
  readonly #floors = new Map<string, Revision>();

  /** The number of acknowledged writes. */
  get count(): number {
    return this.#acknowledged.length;
  }

  get highest(): Revision {
    return this.#highest;
  }

  floor(key: string): Revision {
    return this.#floors.get(key) ?? 0;
  }

  acknowledge(op: CasOp, revision: Revision, highestBefore: Revision): void {
    assert(revision > highestBefore, `revision ${revision} was given out after ${highestBefore}`);
    assert(!this.#revisions.has(revision), `revision ${revision} was given out twice`);
    const replaced = `${op.key} at ${op.expected}`;
    assert(!this.#byReplaced.has(replaced), `${replaced} was replaced twice`);
    this.#byReplaced.add(replaced);
    this.#revisions.add(revision);
    this.#acknowledged.push({ key: op.key, value: op.value, revision, replaced: op.expected });
    this.#highest = Math.max(this.#highest, revision);
    this.#floors.set(op.key, Math.max(this.floor(op.key), revision));
  }

  doubt(op: CasOp): void {
    this.#uncertain.add(op.value);
  }

  /** Checks against the final content. */
  judge(present: ReadonlyMap<string, Entry>): void {
    for (const key of KEYS) {
      const chain = this.#acknowledged
        .filter((write) => write.key === key)
        .toSorted((a, b) => a.revision - b.revision);
      let before: Write | null = null;
      for (const write of chain) {
        // Between the two there is at most an uncertain write, whose revision is unknown.
        const isNext = (write.replaced ?? 0) === (before?.revision ?? 0);
        const isAfterDoubt =
          (write.replaced ?? 0) > (before?.revision ?? 0) && !this.#revisions.has(write.replaced ?? 0);
        assert(
          isNext || isAfterDoubt,
          `${key}: ${write.revision} replaced ${write.replaced}, not ${before?.revision}`,
        );
        before = write;
      }
      const entry = present.get(key);
      if (before === null) continue;
      assert(entry !== undefined && entry.revision >= before.revision, `${key}: ${before.revision} is lost`);
      if (entry.revision === before.revision) assert.equal(entry.value, before.value);
      else assert(this.#uncertain.has(entry.value), `${key}: ${entry.value} is there, and was not written`);
    }
  }
}

/** Writes to random keys until `signal` is aborted. */
export async function keepWriting(
  store: Store,
  check: RegisterCheck,
  seed: number,
  signal: AbortSignal,
): Promise<void> {
  const random = new Random(seed);
  const known = new Map<string, Revision>();
  for (let i = 0; !signal.aborted; i++) {
    const batch = random
      .shuffle(KEYS)
      .slice(0, random.int(1, 3))
      .map((key): CasOp => {
        return { key, expected: known.get(key) ?? null, value: `${seed}/${i}/${key}` };
      });
    const before = check.highest;
    const floors = batch.map(({ key }) => check.floor(key));
    try {
      const outcomes = await store.compareAndSet(batch, { signal: AbortSignal.timeout(CALL_MS) });
      for (const [j, op] of batch.entries()) {
        const outcome = outcomes[j];
        if (outcome?.kind === "swapped") {
          check.acknowledge(op, outcome.revision, before);
          known.set(op.key, outcome.revision);
        } else if (outcome?.kind === "conflict") {
          const shown = outcome.current?.revision ?? 0;
          assert(
            shown >= (floors[j] as Revision),
            `${op.key}: ${shown} was shown, ${floors[j]} acknowledged`,
          );
          assert.notEqual(outcome.current?.value, op.value, "a conflict with one's own write");
          known.set(op.key, shown);
        } else check.doubt(op);
      }
      if (!outcomes.some(({ kind }) => kind === "uncertain")) continue;
      check.failures++;
      await scheduler.wait(PAUSE_MS);
    } catch (error) {
      const isBounded = error instanceof BackendUnavailableError || (error as Error).name === "TimeoutError";
      assert(isBounded, String(error));
      check.failures++;
      await scheduler.wait(PAUSE_MS);
    }
  }
}

/** The whole content of the store, as a feed opened now shows it. */
export async function snapshotOf(store: Store): Promise<Map<string, Entry>> {
  for await (const { entries } of store.feed()) return new Map(entries.map((entry) => [entry.key, entry]));
  throw new Error("a feed never ends silently");
}

/** Follows the feed as an elector does: opens another when one breaks, and checks that none goes back. */
export class Follower {
  readonly seen: Map<string, Entry> = new Map();
  progress: Revision = 0;
  /** Why feeds have ended. */
  readonly breaks: unknown[] = [];
  readonly #store: Store;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  constructor(store: Store) {
    this.#store = store;
    this.#done = this.#follow();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #follow(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        for await (const { kind, entries, revision } of this.#store.feed({ signal: this.#stop.signal })) {
          assert(revision >= this.progress, `progress went back from ${this.progress} to ${revision}`);
          for (const entry of entries) {
            const before = this.seen.get(entry.key)?.revision ?? 0;
            assert(kind === "snapshot" ? entry.revision >= before : entry.revision > before);
            this.seen.set(entry.key, entry);
          }
          this.progress = revision;
        }
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        if (!this.#stop.signal.aborted) this.breaks.push(error);
      }
      await scheduler.wait(PAUSE_MS);
    }
  }
}
