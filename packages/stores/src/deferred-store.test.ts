import {
  BackendUnavailableError,
  type CallOptions,
  ClosedError,
  InvalidRequestError,
  MemoryStore,
  type Store,
} from "@tenure/core";
import { storeConformance } from "@tenure/core/conformance";
import { VirtualClock } from "@tenure/core/testing";
import { describe, expect, test } from "vitest";
import { DeferredStore, type StoreState } from "./deferred-store.js";
import type { StoreOpener } from "./store-opener.js";

/** An engine that fails as the test says until it is up; then it is a store in memory. */
class LateEngine implements StoreOpener {
  readonly name = "late";
  readonly store = new MemoryStore();
  readonly features = this.store.features;
  readonly limits = this.store.limits;
  failure: Error | null = new BackendUnavailableError("nothing listens");
  attempts = 0;
  signal: AbortSignal | undefined;

  async open({ signal }: CallOptions): Promise<Store> {
    this.attempts++;
    this.signal = signal;
    if (this.failure !== null) throw this.failure;
    return this.store;
  }
}

async function setUp(engine = new LateEngine()): Promise<{
  engine: LateEngine;
  clock: VirtualClock;
  store: Store;
  states: StoreState[];
}> {
  const clock = new VirtualClock();
  const states: StoreState[] = [];
  const store = await DeferredStore.open(engine, { clock, onState: (state) => states.push(state) });
  return { engine, clock, store, states };
}

/** Advances virtual time by `durationMs`, then returns the result of `opening`, or its error. Rejects if there is neither by then. */
async function outcome(clock: VirtualClock, opening: Promise<unknown>, durationMs: number): Promise<unknown> {
  let settled: { readonly with: unknown } | null = null;
  const settle = (value: unknown) => {
    settled = { with: value };
  };
  opening.then(settle, settle);
  await clock.advance(durationMs);
  if (settled === null) throw new Error(`not settled after ${durationMs} ms of virtual time`);
  return (settled as { readonly with: unknown }).with;
}

describe("the contract of a store whose engine came up late", () => {
  storeConformance({
    test,
    open: async () => {
      const { engine, clock, store } = await setUp();
      engine.failure = null;
      await clock.advance(100);
      return store;
    },
  });
});

test("an engine that answers at once is used directly, without a wrapper", async () => {
  const engine = new LateEngine();
  engine.failure = null;
  const { store, states } = await setUp(engine);
  expect(store).toBe(engine.store);
  expect(states).toEqual([]);
});

test("an invalid option is thrown at the first attempt", async () => {
  const engine = new LateEngine();
  engine.failure = new InvalidRequestError("user", "is refused");
  await expect(DeferredStore.open(engine)).rejects.toBe(engine.failure);
});

test("a deferred store knows its name and limits, and refuses calls with the reason until the engine is up", async () => {
  const { engine, clock, store, states } = await setUp();
  expect([store.name, store.limits]).toEqual(["late", engine.limits]);
  const first = store.feed()[Symbol.asyncIterator]();
  for (const call of [store.sync(), store.compareAndSet([]), first.next()]) {
    await expect(call).rejects.toThrow(BackendUnavailableError);
    await expect(call).rejects.toThrow(/late store is not open yet.*nothing listens/);
  }
  const gone = { signal: AbortSignal.abort(new Error("gone")) };
  await expect(store.sync(gone)).rejects.toThrow("gone");
  engine.failure = null;
  await clock.advance(100);
  expect(await store.sync()).toBe(0);
  expect(states.map(({ kind }) => kind)).toEqual(["unreachable", "opened"]);
  await store.close();
});

test("a deferred store retries at doubling intervals of up to two seconds", async () => {
  const { engine, clock, store } = await setUp();
  const atMs: number[] = [];
  for (let nowMs = 0; nowMs < 10_000; nowMs += 50) {
    const before = engine.attempts;
    await clock.advance(50);
    if (engine.attempts > before) atMs.push(nowMs + 50);
  }
  expect(atMs).toEqual([100, 300, 700, 1500, 3100, 5100, 7100, 9100]);
  await store.close();
});

test("an engine that later refuses the credentials is retried rarely, and used once it accepts them", async () => {
  const { engine, clock, store, states } = await setUp();
  engine.failure = new InvalidRequestError("user", "is refused");
  await clock.advance(100);
  expect(states.at(-1)).toMatchObject({ kind: "unreachable", isRefused: true });
  await expect(store.sync()).rejects.toThrow(BackendUnavailableError);
  await expect(store.sync()).rejects.toThrow(/user is refused/);
  const { attempts } = engine;
  await clock.advance(29_000);
  expect(engine.attempts).toBe(attempts);
  engine.failure = null;
  await clock.advance(1000);
  expect(await store.sync()).toBe(0);
  await store.close();
});

test("openWithin resolves to the engine's store once it answers, and rejects with the last reason after its limit", async () => {
  const clock = new VirtualClock();
  const engine = new LateEngine();
  const opening = DeferredStore.openWithin(engine, 1000, { clock });
  await clock.advance(500);
  engine.failure = null;
  const store = (await outcome(clock, opening, 500)) as Store;
  expect(await store.sync()).toBe(0);
  await store.close();

  const never = new LateEngine();
  const refused = DeferredStore.openWithin(never, 1000, { clock });
  refused.catch(() => {});
  await clock.advance(999);
  const { attempts } = never;
  const error = await outcome(clock, refused, 1);
  expect(error).toBeInstanceOf(BackendUnavailableError);
  expect(error).toMatchObject({
    message: expect.stringMatching(/late store.*within 1000 ms.*nothing listens/) as unknown,
    cause: never.failure,
  });
  await clock.advance(60_000);
  expect(never.attempts).toBe(attempts);
});

test("openWithin with a limit of 0 makes one attempt, and throws an invalid option at once, even after an unreachable engine", async () => {
  const clock = new VirtualClock();
  const engine = new LateEngine();
  await expect(DeferredStore.openWithin(engine, 0, { clock })).rejects.toBe(engine.failure);
  expect(engine.attempts).toBe(1);
  const opening = DeferredStore.openWithin(engine, 60_000, { clock });
  opening.catch(() => {});
  await clock.advance(50);
  engine.failure = new InvalidRequestError("user", "is refused");
  expect(await outcome(clock, opening, 100)).toBe(engine.failure);
});

test("closing a deferred store ends the attempts, and later calls get ClosedError", async () => {
  const { engine, clock, store, states } = await setUp();
  await store.close();
  await store.close();
  const { attempts } = engine;
  engine.failure = null;
  await clock.advance(10_000);
  expect(engine.attempts).toBe(attempts);
  expect(states).toHaveLength(1);
  await expect(store.sync()).rejects.toThrow(ClosedError);
  await expect(store.feed()[Symbol.asyncIterator]().next()).rejects.toThrow(ClosedError);
});

test("closing during an attempt aborts it, and closes a store that it still opened", async () => {
  const { engine, clock, store } = await setUp();
  let finish = (): void => {};
  engine.open = ({ signal }) => {
    engine.signal = signal;
    return new Promise((resolve) => (finish = () => resolve(engine.store)));
  };
  await clock.advance(100);
  const closed = store.close();
  expect(engine.signal?.aborted).toBe(true);
  finish();
  await closed;
  await expect(engine.store.sync()).rejects.toThrow(ClosedError);
});
