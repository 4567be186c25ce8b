/** The suite itself: what keeps the contract passes, however slowly; what breaks one sentence of it does not. */
import { expect, test } from "vitest";
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
import { MemoryStore } from "../store/memory-store.js";
import { systemClock } from "../system-clock.js";
import { noFaults } from "../testing/fault-plan.js";
import { FaultyStore } from "../testing/faulty-store.js";
import { Random } from "../testing/random.js";
import { storeConformance } from "./store.js";

interface CollectedLaw {
  readonly name: string;
  readonly run: () => Promise<void>;
}

function collect(open: (space: string) => Promise<Store>): CollectedLaw[] {
  const laws: CollectedLaw[] = [];
  storeConformance({ test: (name, run) => laws.push({ name, run }), open });
  return laws;
}

/** Handles on one memory store per space, with delay, refusals without a cause and a feed that leaves values out. */
function openAfar(): (space: string) => Promise<Store> {
  const spaces = new Map<string, MemoryStore>();
  const random = new Random(7);
  return (space) => {
    const store = spaces.get(space) ?? new MemoryStore();
    spaces.set(space, store);
    const features = { shared: true, durable: true };
    const plan = { ...noFaults(), conflictRate: 0.1, coalesceRate: 0.5, feedMs: [0, 1] as const };
    const faulty = new FaultyStore({ store, time: systemClock, random: random.fork(), plan });
    return Promise.resolve(Object.assign(faulty, { features }));
  };
}

// The wrapper closes only its own view, does not wait for what is in flight, and refuses by changing what is expected.
const NOT_FROM_AFAR = new Set([
  "close waits for the writes in flight",
  "a batch that can never be right is refused, and nothing of it is written",
]);
for (const law of collect(openAfar()).filter(({ name }) => !NOT_FROM_AFAR.has(name))) {
  test(`from afar: ${law.name}`, law.run);
}

/** A memory store that one sentence of the contract is taken from. */
class Mutant implements Store {
  readonly name = "mutant";
  readonly inner = new MemoryStore();
  readonly features: StoreFeatures = this.inner.features;
  readonly limits = this.inner.limits;

  compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    return this.inner.compareAndSet(batch, options);
  }

  sync(options?: CallOptions): Promise<Revision> {
    return this.inner.sync(options);
  }

  feed(options?: CallOptions): AsyncIterable<FeedItem> {
    return this.inner.feed(options);
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  protected async current(key: string): Promise<Entry | null> {
    const outcome = (
      await this.inner.compareAndSet([{ key, expected: Number.MAX_SAFE_INTEGER, value: "" }])
    )[0];
    return outcome?.kind === "conflict" ? outcome.current : null;
  }
}

class WithoutComparison extends Mutant {
  override async compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    const blind = batch.map(async (op) => ({
      ...op,
      expected: (await this.current(op.key))?.revision ?? null,
    }));
    return super.compareAndSet(await Promise.all(blind), options);
  }
}

/** Another may write between the two. */
class ComparesThenWrites extends Mutant {
  override async compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    const outcomes = batch.map(async (op): Promise<CasOutcome> => {
      const current = await this.current(op.key);
      if (op.expected !== (current?.revision ?? null)) return { kind: "conflict", current };
      for (let expected = op.expected; ; expected = (await this.current(op.key))?.revision ?? null) {
        const [outcome] = await super.compareAndSet([{ ...op, expected }], options);
        if (outcome?.kind === "swapped") return outcome;
      }
    });
    return Promise.all(outcomes);
  }
}

class AllOrNothing extends Mutant {
  override async compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    const present = await Promise.all(batch.map((op) => this.current(op.key)));
    const fits = batch.every((op, i) => op.expected === (present[i]?.revision ?? null));
    if (fits || batch.length < 2) return super.compareAndSet(batch, options);
    return present.map((current) => ({ kind: "conflict", current }));
  }
}

class AnswersOutOfPlace extends Mutant {
  override async compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    return (await super.compareAndSet(batch, options)).toReversed();
  }
}

class ShowsNothingOnConflict extends Mutant {
  override async compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    const outcomes = await super.compareAndSet(batch, options);
    return outcomes.map((outcome) => (outcome.kind === "conflict" ? { ...outcome, current: null } : outcome));
  }
}

class SkipsChecks extends Mutant {
  override async compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    const outcomes: CasOutcome[] = [];
    for (const op of batch) outcomes.push(...(await super.compareAndSet([op], options)));
    return outcomes;
  }
}

/** As an engine that drops what is too long for it. */
class CutsLongValues extends Mutant {
  override compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    const cut = batch.map((op) => ({ ...op, value: op.value.slice(0, this.limits.valueBytes / 2) }));
    return super.compareAndSet(cut, options);
  }
}

class FoldsKeys extends Mutant {
  override compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    const folded = batch.map((op) => ({ ...op, key: op.key.replaceAll("//", "/") }));
    return super.compareAndSet(folded, options);
  }
}

class NormalizesValues extends Mutant {
  override compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    return super.compareAndSet(
      batch.map((op) => ({ ...op, value: op.value.normalize("NFC") })),
      options,
    );
  }
}

class IgnoresAborts extends Mutant {
  override compareAndSet(batch: readonly CasOp[]): Promise<CasOutcome[]> {
    return super.compareAndSet(batch);
  }
}

class RejectsWhatItWrote extends Mutant {
  override async compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    const outcomes = await super.compareAndSet(batch, options);
    options?.signal?.throwIfAborted();
    return outcomes;
  }
}

class SyncsLate extends Mutant {
  #before: Revision = 0;

  override async sync(options?: CallOptions): Promise<Revision> {
    const answer = this.#before;
    this.#before = await super.sync(options);
    return answer;
  }
}

class StaysOpen extends Mutant {
  override close(): Promise<void> {
    return Promise.resolve();
  }
}

class StatesTooMuch extends Mutant {
  override readonly features = { shared: true, durable: true };
}

/** Every handle is the same store, and none says so. */
class StatesTooLittle extends Mutant {
  static readonly #only = new MemoryStore();
  override readonly inner = StatesTooLittle.#only;

  override close(): Promise<void> {
    return Promise.resolve();
  }
}

/** Changes what a feed says. */
abstract class WithFeed extends Mutant {
  abstract alter(item: FeedItem): readonly FeedItem[];

  override async *feed(options?: CallOptions): AsyncIterable<FeedItem> {
    for await (const item of super.feed(options)) yield* this.alter(item);
  }
}

class LeavesAGap extends Mutant {
  override async *feed(options?: CallOptions): AsyncIterable<FeedItem> {
    let items = 0;
    for await (const item of super.feed(options)) yield ++items === 2 ? { ...item, entries: [] } : item;
  }
}

class HidesKeys extends WithFeed {
  alter(item: FeedItem): readonly FeedItem[] {
    return [{ ...item, entries: item.entries.filter(({ key }) => key !== "r/b" && key !== "r/1") }];
  }
}

class ReversesChanges extends WithFeed {
  alter(item: FeedItem): readonly FeedItem[] {
    return [{ ...item, entries: item.entries.toReversed() }];
  }
}

class ReportsProgressEarly extends WithFeed {
  alter(item: FeedItem): readonly FeedItem[] {
    return item.kind === "snapshot" ? [item] : [{ ...item, entries: [] }, item];
  }
}

class EndsSilently extends Mutant {
  override async *feed(options?: CallOptions): AsyncIterable<FeedItem> {
    try {
      yield* super.feed(options);
    } catch {
      return;
    }
  }
}

const MUTANTS: readonly (readonly [new () => Store, string])[] = [
  [WithoutComparison, "a key is replaced only against its present revision"],
  [ComparesThenWrites, "of a thousand racing for one key exactly one wins, round after round"],
  [ComparesThenWrites, "writers at random keep to a naive model (seed 1)"],
  [AllOrNothing, "operations of a batch win and lose on their own, each answered in its place"],
  [AnswersOutOfPlace, "operations of a batch win and lose on their own, each answered in its place"],
  [AnswersOutOfPlace, "a batch as large as the store admits is written whole"],
  [ShowsNothingOnConflict, "an absent key is created once, and the second writer is shown the entry"],
  [ShowsNothingOnConflict, "writers at random keep to a naive model (seed 1)"],
  [SkipsChecks, "a batch that names a key twice is refused, and nothing of it is written"],
  [SkipsChecks, "a batch that can never be right is refused, and nothing of it is written"],
  [
    SkipsChecks,
    "a value as long as the store admits is written, and a batch with a longer one is refused as a whole",
  ],
  [
    CutsLongValues,
    "a value as long as the store admits is written, and a batch with a longer one is refused as a whole",
  ],
  [
    SkipsChecks,
    "a key as long as the store admits is written, and a batch with a longer one is refused as a whole",
  ],
  [SkipsChecks, "a batch larger than the store admits is refused, and nothing of it is written"],
  [FoldsKeys, "keys that differ in any admitted character are different keys"],
  [NormalizesValues, "values come back as they were written"],
  [IgnoresAborts, "a call whose signal is aborted already rejects with the reason, and writes nothing"],
  [RejectsWhatItWrote, "a write aborted in the middle is answered or uncertain, and a read shows which"],
  [SyncsLate, "sync is at or above every write acknowledged before it"],
  [StaysOpen, "close may be called again, and everything after it is refused"],
  [StatesTooMuch, "sync is at or above every write acknowledged to another handle"],
  [StatesTooMuch, "what was acknowledged is there after reopening, and revisions go on rising"],
  [StatesTooLittle, "sync is at or above every write acknowledged to another handle"],
  [StatesTooLittle, "what was acknowledged is there after reopening, and revisions go on rising"],
  [LeavesAGap, "no change falls between the snapshot and what follows it, while others write"],
  [HidesKeys, "a feed begins with everything acknowledged before it was opened"],
  [HidesKeys, "a consumer that reads late is shown the last value of each key"],
  [HidesKeys, "writers at random keep to a naive model (seed 1)"],
  [ReversesChanges, "a consumer that reads late is shown the last value of each key"],
  [ReportsProgressEarly, "each change follows the snapshot, in the order of revisions"],
  [EndsSilently, "close ends the feeds that wait, with ClosedError"],
  [EndsSilently, "a feed aborted while it waits throws the reason, and delivers nothing more"],
];

for (const [Broken, name] of MUTANTS) {
  test(`${Broken.name} is caught: ${name}`, async () => {
    const law = collect(() => Promise.resolve(new Broken())).find((each) => each.name === name);
    expect(law, `there is no law "${name}"`).toBeDefined();
    await expect(law?.run()).rejects.toThrow();
  });
}
