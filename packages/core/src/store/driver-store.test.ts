/** The runtime of stores, over a driver that the test controls. */
import { expect, test } from "vitest";
import { BackendUnavailableError, ClosedError, InvalidRequestError } from "../errors.js";
import { type FeedSink, NothingWritten, type StoreDriver, type WriteCall } from "./driver.js";
import { storeOf } from "./driver-store.js";
import type { CasOp, CasOutcome, Revision } from "./store.js";

interface Pending<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

class HeldDriver implements StoreDriver {
  readonly name = "held";
  readonly features = { shared: false, durable: false };
  readonly limits = { batchOps: 2, batchesInFlight: 1, keyLength: 10, valueBytes: 10 };
  readonly writes: (Pending<CasOutcome[]> & { readonly call: WriteCall })[] = [];
  readonly heads: Pending<Revision>[] = [];
  readonly sinks: {
    readonly sink: FeedSink;
    readonly signal: AbortSignal;
    readonly pending: Pending<void>;
  }[] = [];
  closed = 0;
  isIdle = false;

  write(_batch: readonly CasOp[], call: WriteCall): Promise<CasOutcome[]> {
    return new Promise((resolve, reject) => this.writes.push({ call, resolve, reject }));
  }

  head(): Promise<Revision> {
    return new Promise((resolve, reject) => this.heads.push({ resolve, reject }));
  }

  follow(sink: FeedSink, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => this.sinks.push({ sink, signal, pending: { resolve, reject } }));
  }

  async close(idle: Promise<void>): Promise<void> {
    this.closed++;
    await idle;
    this.isIdle = true;
  }
}

const A: CasOp = { key: "a", expected: null, value: "1" };
const B: CasOp = { key: "b", expected: null, value: "1" };
const SWAPPED: CasOutcome = { kind: "swapped", revision: 7 };

function setUp() {
  const driver = new HeldDriver();
  return { driver, store: storeOf(driver) };
}

/** The only write that the driver received. */
function only(driver: HeldDriver): HeldDriver["writes"][number] {
  expect(driver.writes).toHaveLength(1);
  return driver.writes[0] as HeldDriver["writes"][number];
}

async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i++) await Promise.resolve();
}

test("a store reports the name, features and limits of its driver", () => {
  const { driver, store } = setUp();
  expect([store.name, store.features, store.limits]).toEqual([driver.name, driver.features, driver.limits]);
});

test("the driver gets no empty batch and none that exceeds the limits", async () => {
  const { driver, store } = setUp();
  expect(await store.compareAndSet([])).toEqual([]);
  const wrong: CasOp[][] = [
    [A, B, { ...A, key: "c" }],
    [{ ...A, key: "a".repeat(11) }],
    [{ ...A, value: "é".repeat(6) }],
    [A, A],
  ];
  for (const batch of wrong) await expect(store.compareAndSet(batch)).rejects.toThrow(InvalidRequestError);
  expect(driver.writes).toEqual([]);
});

test("a write that fails before it began rejects with the reason", async () => {
  const { driver, store } = setUp();
  const sent = store.compareAndSet([A]);
  const reason = new BackendUnavailableError("no connection");
  only(driver).reject(reason);
  await expect(sent).rejects.toBe(reason);
});

test("a write that fails after it began is uncertain, except for the outcomes that the driver has reported", async () => {
  const { driver, store } = setUp();
  const sent = store.compareAndSet([A, B]);
  const { call, reject } = only(driver);
  call.begin();
  call.answered(1, SWAPPED);
  const cause = new Error("the connection was lost");
  reject(cause);
  expect(await sent).toEqual([{ kind: "uncertain", cause }, SWAPPED]);
});

test("a failed write that wrote nothing rejects with the driver's reason", async () => {
  const { driver, store } = setUp();
  const sent = store.compareAndSet([A]);
  const reason = new BackendUnavailableError("read-only");
  only(driver).call.begin();
  only(driver).reject(new NothingWritten(reason));
  await expect(sent).rejects.toBe(reason);
});

test("a write aborted before it began rejects and never begins", async () => {
  const { driver, store } = setUp();
  const controller = new AbortController();
  const sent = store.compareAndSet([A], { signal: controller.signal });
  const reason = new Error("enough");
  controller.abort(reason);
  await expect(sent).rejects.toBe(reason);
  expect(() => only(driver).call.begin()).toThrow(reason);
});

test("a write aborted after it began returns uncertain at once, with the outcomes known so far", async () => {
  const { driver, store } = setUp();
  const controller = new AbortController();
  const sent = store.compareAndSet([A, B], { signal: controller.signal });
  const { call } = only(driver);
  call.begin();
  call.answered(0, SWAPPED);
  await turns();
  const cause = new Error("enough");
  controller.abort(cause);
  expect(await sent).toEqual([SWAPPED, { kind: "uncertain", cause }]);
});

test("close waits for a write whose caller has disconnected", async () => {
  const { driver, store } = setUp();
  const controller = new AbortController();
  const sent = store.compareAndSet([A], { signal: controller.signal });
  const { call, resolve } = only(driver);
  call.begin();
  controller.abort(new Error("enough"));
  await sent;
  const closing = store.close();
  await turns();
  expect(driver.isIdle).toBe(false);
  resolve([SWAPPED]);
  await closing;
  expect(driver.isIdle).toBe(true);
});

test("a write in flight during close is answered, and one that has not begun gets ClosedError", async () => {
  const { driver, store } = setUp();
  const [begun, waiting] = [store.compareAndSet([A]), store.compareAndSet([B])];
  driver.writes[0]?.call.begin();
  const closing = store.close();
  driver.writes[0]?.resolve([SWAPPED]);
  driver.writes[1]?.reject(new Error("stopped"));
  expect(await begun).toEqual([SWAPPED]);
  await expect(waiting).rejects.toThrow(ClosedError);
  await closing;
});

test("the driver is closed once, and later calls are refused without reaching it", async () => {
  const { driver, store } = setUp();
  await Promise.all([store.close(), store.close(), store[Symbol.asyncDispose]()]);
  expect(driver.closed).toBe(1);
  await expect(store.compareAndSet([A])).rejects.toThrow(ClosedError);
  await expect(store.sync()).rejects.toThrow(ClosedError);
  await expect(store.feed()[Symbol.asyncIterator]().next()).rejects.toThrow(ClosedError);
  expect([driver.writes.length, driver.heads.length, driver.sinks.length]).toEqual([0, 0, 0]);
});

test("a sync rejects with the signal's reason, and with ClosedError once the store is closed", async () => {
  const { driver, store } = setUp();
  const controller = new AbortController();
  const aborted = store.sync({ signal: controller.signal });
  controller.abort(new Error("enough"));
  await expect(aborted).rejects.toThrow("enough");
  driver.heads[0]?.resolve(1);
  const failed = store.sync();
  const closing = store.close();
  driver.heads[1]?.reject(new Error("stopped"));
  await expect(failed).rejects.toThrow(ClosedError);
  await closing;
});

test("close ends the feeds, and waits until the driver has released them", async () => {
  const { driver, store } = setUp();
  const reader = store.feed()[Symbol.asyncIterator]();
  const first = reader.next();
  const { sink, signal, pending } = driver.sinks[0] as HeldDriver["sinks"][number];
  sink.snapshot([], 1);
  await first;
  const waiting = reader.next();
  const closing = store.close();
  await expect(waiting).rejects.toThrow(ClosedError);
  expect(signal.aborted).toBe(true);
  await turns();
  expect(driver.isIdle).toBe(false);
  pending.resolve();
  await closing;
});

test("each loop over the same feed is independent, and leaving one releases it", async () => {
  const { driver, store } = setUp();
  const feed = store.feed();
  for (let round = 0; round < 2; round++) {
    const reader = feed[Symbol.asyncIterator]();
    const first = reader.next();
    const { sink, signal, pending } = driver.sinks[round] as HeldDriver["sinks"][number];
    sink.snapshot([], 1);
    await first;
    pending.resolve();
    await reader.return?.();
    expect(signal.aborted).toBe(true);
  }
  expect(driver.sinks).toHaveLength(2);
});

test("a feed that cannot be followed throws the driver's reason", async () => {
  const { driver, store } = setUp();
  const reader = store.feed()[Symbol.asyncIterator]();
  const first = reader.next();
  const reason = new BackendUnavailableError("no connection");
  driver.sinks[0]?.pending.reject(reason);
  await expect(first).rejects.toBe(reason);
  expect((await reader.next()).done).toBe(true);
});
