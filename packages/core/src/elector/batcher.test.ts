import { expect, test } from "vitest";
import { BackendUnavailableError, ClosedError, InvalidRequestError } from "../errors.js";
import { MemoryStore } from "../store/memory-store.js";
import type { CallOptions, CasOp, CasOutcome, StoreLimits } from "../store/store.js";
import { VirtualClock } from "../testing/virtual-clock.js";
import { Batcher } from "./batcher.js";
import { failureOf, stateOf } from "./world.test-kit.js";

interface Call {
  readonly batch: readonly CasOp[];
  readonly signal: AbortSignal | undefined;
  answer(outcomes?: CasOutcome[]): void;
  fail(error: unknown): void;
}

/** A store whose batches are answered by hand. */
class SlowStore extends MemoryStore {
  override readonly limits: StoreLimits;
  readonly calls: Call[] = [];

  constructor(limits: StoreLimits) {
    super();
    this.limits = limits;
  }

  override compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    return new Promise((resolve, reject) => {
      const answer = (outcomes = batch.map((_, i): CasOutcome => ({ kind: "swapped", revision: i + 1 }))) =>
        resolve(outcomes);
      this.calls.push({ batch, signal: options?.signal, answer, fail: reject });
    });
  }
}

const op = (key: string): CasOp => ({ key, expected: null, value: "v" });
const sizes = (store: SlowStore) => store.calls.map(({ batch }) => batch.length);

function setUp(limits: StoreLimits = { batchOps: 4, batchesInFlight: 2, keyLength: 512, valueBytes: 1000 }): {
  store: SlowStore;
  clock: VirtualClock;
  batcher: Batcher;
} {
  const store = new SlowStore(limits);
  const clock = new VirtualClock();
  return { store, clock, batcher: new Batcher(store, clock) };
}

test("operations submitted in one turn form one batch, and each gets its own outcome", async () => {
  const { store, clock, batcher } = setUp();
  const outcomes = Promise.all(["a", "b", "c"].map((key) => batcher.submit(op(key), 250)));
  expect(store.calls).toEqual([]);
  await clock.advance(0);
  expect(store.calls.map(({ batch }) => batch.map(({ key }) => key))).toEqual([["a", "b", "c"]]);
  store.calls[0]?.answer([
    { kind: "swapped", revision: 7 },
    { kind: "conflict", current: null },
    { kind: "uncertain", cause: "c" },
  ]);
  expect((await outcomes).map(({ kind }) => kind)).toEqual(["swapped", "conflict", "uncertain"]);
});

test("neither the size of a batch nor the number in flight exceeds the limits of the store", async () => {
  const { store, clock, batcher } = setUp();
  const all = Array.from({ length: 11 }, (_, i) => batcher.submit(op(`k${i}`), 250));
  await clock.advance(0);
  expect(sizes(store)).toEqual([4, 4]);
  store.calls[0]?.answer();
  await clock.advance(0);
  expect(sizes(store)).toEqual([4, 4, 3]);
  store.calls[1]?.answer();
  store.calls[2]?.answer();
  expect(await Promise.all(all)).toHaveLength(11);
});

test("operations submitted while all places are taken wait and form one batch", async () => {
  const { store, clock, batcher } = setUp({
    batchOps: 100,
    batchesInFlight: 1,
    keyLength: 512,
    valueBytes: 1000,
  });
  const first = batcher.submit(op("first"), 250);
  await clock.advance(0);
  const rest: Promise<CasOutcome>[] = [];
  for (let i = 0; i < 10; i++) {
    rest.push(batcher.submit(op(`k${i}`), 250));
    await clock.advance(1);
  }
  expect(sizes(store)).toEqual([1]);
  store.calls[0]?.answer();
  await first;
  await clock.advance(0);
  expect(sizes(store)).toEqual([1, 10]);
  store.calls[1]?.answer();
  await Promise.all(rest);
});

const ONE_AT_A_TIME = { batchOps: 1000, batchesInFlight: 1, keyLength: 512, valueBytes: 1000 };

/** `callers` send their next operation as soon as they are answered; half of them start while the batch of the others is on its way. */
async function closedLoop(callers: number, commits: number): Promise<readonly number[]> {
  const { store, clock, batcher } = setUp(ONE_AT_A_TIME);
  const ask = (caller: number): void => {
    // The answer has to reach the caller, and its next request has to come back.
    const askAgain = () => clock.soon(() => clock.soon(() => ask(caller)));
    void batcher.submit(op(`k${caller}`), 250).then(askAgain);
  };
  for (let caller = 0; caller < callers / 2; caller++) ask(caller);
  await clock.advance(0);
  for (let caller = callers / 2; caller < callers; caller++) ask(caller);
  for (let commit = 0; commit < commits; commit++) {
    store.calls[commit]?.answer();
    await clock.advance(0);
  }
  return sizes(store);
}

test("callers that send their next operation when they are answered share one batch, although they began in two", async () => {
  expect(await closedLoop(100, 4)).toEqual([50, 100, 100, 100, 100]);
});

test("a few callers are not waited for", async () => {
  expect(await closedLoop(20, 4)).toEqual([10, 10, 10, 10, 10]);
});

test("after a large batch, callers that do not come back delay the next one by a turn, and no timer", async () => {
  const { store, clock, batcher } = setUp(ONE_AT_A_TIME);
  for (let i = 0; i < 100; i++) void batcher.submit(op(`k${i}`), 250);
  await clock.advance(0);
  void batcher.submit(op("late"), 250);
  const atMs = clock.monotonicMs();
  store.calls[0]?.answer();
  await clock.advance(0);
  expect(sizes(store)).toEqual([100, 1]);
  expect(clock.monotonicMs()).toBe(atMs);
});

test("a batch that times out leaves each operation uncertain and frees its place", async () => {
  const { store, clock, batcher } = setUp({
    batchOps: 100,
    batchesInFlight: 1,
    keyLength: 512,
    valueBytes: 1000,
  });
  const lost = [batcher.submit(op("a"), 250), batcher.submit(op("b"), 250)];
  await clock.advance(0);
  const next = batcher.submit(op("c"), 250);
  await clock.advance(249);
  expect(await stateOf(lost[0] as Promise<CasOutcome>)).toBe("pending");
  expect(store.calls).toHaveLength(1);
  await clock.advance(1);
  expect((await Promise.all(lost)).map(({ kind }) => kind)).toEqual(["uncertain", "uncertain"]);
  expect(store.calls[0]?.signal?.aborted).toBe(true);
  expect(sizes(store)).toEqual([2, 1]);
  store.calls[1]?.answer();
  expect(await next).toEqual({ kind: "swapped", revision: 1 });
  // Too late: the operation was already reported as uncertain.
  store.calls[0]?.answer();
  await clock.advance(0);
});

test("a batch that the store refused as a whole rejects each operation: nothing was written", async () => {
  const { store, clock, batcher } = setUp();
  for (const [error, expected] of [
    [new BackendUnavailableError("out"), BackendUnavailableError],
    [new ClosedError("closed"), ClosedError],
    [new Error("a driver's own"), BackendUnavailableError],
    ["not even an error", BackendUnavailableError],
  ] as const) {
    const failures = ["a", "b"].map((key) => failureOf(batcher.submit(op(key), 250)));
    await clock.advance(0);
    store.calls.at(-1)?.fail(error);
    for (const failure of failures) expect(await failure).toBeInstanceOf(expected);
  }
});

test("an operation whose outcome the store left out is uncertain", async () => {
  const { store, clock, batcher } = setUp();
  const both = Promise.all([batcher.submit(op("a"), 250), batcher.submit(op("b"), 250)]);
  await clock.advance(0);
  store.calls[0]?.answer([{ kind: "swapped", revision: 1 }]);
  expect((await both).map(({ kind }) => kind)).toEqual(["swapped", "uncertain"]);
});

test("an answered batch leaves no timer behind, and its signal is not aborted later", async () => {
  const { store, clock, batcher } = setUp();
  const outcome = batcher.submit(op("a"), 250);
  await clock.advance(0);
  store.calls[0]?.answer();
  expect(await outcome).toMatchObject({ kind: "swapped" });
  await clock.advance(1000);
  expect(store.calls[0]?.signal?.aborted).toBe(false);
});

test("each operation of a batch times out at its own limit, and the batch goes on for the others", async () => {
  const { store, clock, batcher } = setUp();
  const short = batcher.submit(op("short"), 125);
  const long = batcher.submit(op("long"), 1000);
  await clock.advance(124);
  expect([sizes(store), await stateOf(short)]).toEqual([[2], "pending"]);
  await clock.advance(1);
  expect(await short).toMatchObject({ kind: "uncertain" });
  await clock.advance(874);
  expect([await stateOf(long), store.calls[0]?.signal?.aborted]).toEqual(["pending", false]);
  await clock.advance(1);
  expect(await long).toMatchObject({ kind: "uncertain" });
  expect(store.calls[0]?.signal?.aborted).toBe(true);
});

test("a late answer still counts for operations whose limit has not passed", async () => {
  const { store, clock, batcher } = setUp();
  const both = [batcher.submit(op("short"), 125), batcher.submit(op("long"), 1000)];
  await clock.advance(500);
  store.calls[0]?.answer();
  expect((await Promise.all(both)).map(({ kind }) => kind)).toEqual(["uncertain", "swapped"]);
});

test("hanging batches with long limits delay an operation with a short limit by at most that limit", async () => {
  const { store, clock, batcher } = setUp({
    batchOps: 1,
    batchesInFlight: 2,
    keyLength: 512,
    valueBytes: 1000,
  });
  for (let i = 0; i < 5; i++) void batcher.submit(op(`long${i}`), 1000);
  await clock.advance(0);
  const short = [batcher.submit(op("short0"), 125), batcher.submit(op("short1"), 125)];
  await clock.advance(124);
  expect(store.calls).toHaveLength(2);
  await clock.advance(1);
  // Two more batches with short limits overtake those with long limits, which have no place yet.
  expect(store.calls.slice(2).map(({ batch }) => batch[0]?.key)).toEqual(["short0", "short1"]);
  await clock.advance(124);
  expect(store.calls).toHaveLength(4);
  store.calls[2]?.answer();
  expect(await short[0]).toMatchObject({ kind: "swapped" });
  await clock.advance(1);
  expect(await short[1]).toMatchObject({ kind: "uncertain" });
});

test("a store that hangs gets at most batchesInFlight batches of one class of limits", async () => {
  const { store, clock, batcher } = setUp({
    batchOps: 4,
    batchesInFlight: 2,
    keyLength: 512,
    valueBytes: 1000,
  });
  for (let i = 0; i < 100; i++) void batcher.submit(op(`k${i}`), 1000);
  await clock.advance(999);
  expect(sizes(store)).toEqual([4, 4]);
});

test("operations with short limits do not starve one with a long limit, nor the other way round", async () => {
  for (const [many, one] of [
    [125, 1000],
    [1000, 125],
  ] as const) {
    const { store, clock, batcher } = setUp({
      batchOps: 10,
      batchesInFlight: 1,
      keyLength: 512,
      valueBytes: 1000,
    });
    let answered = 0;
    void batcher.submit(op("first"), many);
    await clock.advance(0);
    const lonely = batcher.submit(op("lonely"), one);
    // Twice what the store can take, so the queue keeps growing.
    for (let ms = 0; (await stateOf(lonely)) === "pending" && ms < 5000; ms += 10) {
      for (let i = 0; i < 20; i++) void batcher.submit(op(`k${ms}-${i}`), many);
      store.calls[answered++]?.answer();
      await clock.advance(10);
    }
    expect(await lonely).toMatchObject({ kind: "swapped" });
  }
});

/** Refuses a whole batch because of one value that is too long, as stores do. */
class StrictStore extends MemoryStore {
  override readonly limits: StoreLimits = {
    batchOps: 100,
    batchesInFlight: 1,
    keyLength: 512,
    valueBytes: 10,
  };
  calls = 0;
  inFlight = 0;
  mostInFlight = 0;

  override async compareAndSet(batch: readonly CasOp[]): Promise<CasOutcome[]> {
    this.calls++;
    this.mostInFlight = Math.max(this.mostInFlight, ++this.inFlight);
    await Promise.resolve();
    this.inFlight--;
    if (batch.some(({ value }) => value.length > 10)) throw new InvalidRequestError("value", "is too long");
    return super.compareAndSet(batch);
  }
}

test("a batch that the store refused as invalid is split until only the invalid operations are rejected", async () => {
  const store = new StrictStore();
  const clock = new VirtualClock();
  const batcher = new Batcher(store, clock);
  const ops = Array.from({ length: 64 }, (_, i) => ({
    ...op(`k${i}`),
    value: i === 7 || i === 50 ? "much too long" : "v",
  }));
  const results = Promise.allSettled(ops.map((each) => batcher.submit(each, 250)));
  await clock.advance(0);
  const rejected = (await results).flatMap(({ status }, index) => (status === "rejected" ? [index] : []));
  expect(rejected).toEqual([7, 50]);
  // Two binary searches, with one batch at a time.
  expect(store.calls).toBeLessThanOrEqual(1 + 2 * 2 * 6);
  expect(store.mostInFlight).toBe(1);
});

test("an operation that timed out while its batch was refused as invalid is not sent again", async () => {
  const { store, clock, batcher } = setUp();
  const short = batcher.submit(op("short"), 100);
  const long = failureOf(batcher.submit(op("long"), 1000));
  await clock.advance(100);
  expect(await short).toMatchObject({ kind: "uncertain" });
  store.calls[0]?.fail(new InvalidRequestError("value", "is too long"));
  await clock.advance(0);
  expect(store.calls.slice(1).flatMap(({ batch }) => batch.map(({ key }) => key))).toEqual(["long"]);
  store.calls[1]?.fail(new InvalidRequestError("value", "is too long"));
  expect(await long).toBeInstanceOf(InvalidRequestError);
});

test("operations that may wait go in batches of their own, after the others, and do not starve", async () => {
  const { store, clock, batcher } = setUp({
    batchOps: 10,
    batchesInFlight: 1,
    keyLength: 512,
    valueBytes: 1000,
  });
  const keys = () => store.calls.map(({ batch }) => batch.map(({ key }) => key).join());
  void batcher.submitLater(op("m1"));
  void batcher.submitLater(op("m2"));
  void batcher.submit(op("r1"), 1000);
  await clock.advance(0);
  expect(keys()).toEqual(["r1"]);
  for (let round = 2; keys().at(-1) !== "m1,m2"; round++) {
    void batcher.submit(op(`r${round}`), 250);
    store.calls.at(-1)?.answer();
    await clock.advance(100);
    expect(round).toBeLessThan(30);
  }
  expect(keys().length).toBeGreaterThan(5);
});
