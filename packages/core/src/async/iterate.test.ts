import { describe, expect, test } from "vitest";
import { unlessAborted } from "./on-abort.js";
import { iterate } from "./iterate.js";
import type { Wakeup } from "./wakeup.js";

/** Events that are emitted by hand, read by generators that wait on their wake-up. */
class Events {
  readonly #listeners = new Set<() => void>();
  readonly #events: number[] = [];

  get listeners(): number {
    return this.#listeners.size;
  }

  emit(event: number): void {
    this.#events.push(event);
    for (const listener of this.#listeners) listener();
  }

  async *read(wakeup: Wakeup): AsyncGenerator<number, undefined> {
    wakeup.listenTo((wake) => {
      this.#listeners.add(wake);
      return () => this.#listeners.delete(wake);
    });
    try {
      for (let at = 0; ;) {
        if (at < this.#events.length) yield this.#events[at++] as number;
        else await wakeup.wait();
      }
    } finally {
      wakeup.remove();
    }
  }

  iterator(...signals: readonly AbortSignal[]): AsyncIterator<number> {
    return iterate(signals, (wakeup) => this.read(wakeup))[Symbol.asyncIterator]();
  }
}

const DONE = { done: true, value: undefined };

describe("iterate", () => {
  test("delivers events in order and waits for the next one", async () => {
    const events = new Events();
    const iterator = events.iterator();
    events.emit(1);
    expect(await iterator.next()).toEqual({ done: false, value: 1 });
    const next = iterator.next();
    events.emit(2);
    expect(await next).toEqual({ done: false, value: 2 });
  });

  test("a reader can leave while it waits for an event", async () => {
    const events = new Events();
    const iterator = events.iterator();
    const next = iterator.next();
    expect(await iterator.return?.()).toEqual(DONE);
    expect(await next).toEqual(DONE);
    expect(await iterator.next()).toEqual(DONE);
    expect(events.listeners).toBe(0);
  });

  test("a reader that leaves before its first event gets none", async () => {
    const events = new Events();
    const iterator = events.iterator();
    events.emit(1);
    expect(await iterator.return?.()).toEqual(DONE);
    expect(await iterator.next()).toEqual(DONE);
  });

  test("an abort rejects the waiting call with the signal's reason, and later calls are done", async () => {
    const events = new Events();
    const stopping = new AbortController();
    const iterator = events.iterator(stopping.signal);
    const next = iterator.next();
    const reason = new Error("closed");
    stopping.abort(reason);
    await expect(next).rejects.toBe(reason);
    expect(await iterator.next()).toEqual(DONE);
    expect(events.listeners).toBe(0);
  });

  test("an abort between two calls releases the generator at once, and the next call rejects although an event is ready", async () => {
    const events = new Events();
    const stopping = new AbortController();
    const iterator = events.iterator(stopping.signal);
    events.emit(1);
    await iterator.next();
    events.emit(2);
    const reason = new Error("closed");
    stopping.abort(reason);
    await Promise.resolve();
    expect(events.listeners).toBe(0);
    await expect(iterator.next()).rejects.toBe(reason);
    expect(await iterator.next()).toEqual(DONE);
  });

  test("an abort right after the call rejects the call although an event is ready", async () => {
    const events = new Events();
    const stopping = new AbortController();
    const iterator = events.iterator(stopping.signal);
    events.emit(1);
    const next = iterator.next();
    const reason = new Error("closed");
    stopping.abort(reason);
    await expect(next).rejects.toBe(reason);
  });

  test("the signal of a wake-up aborts when the reader leaves", async () => {
    const seen: AbortSignal[] = [];
    const iterator = iterate<number>([], async function* ({ signal }) {
      seen.push(signal);
      yield await unlessAborted(signal, new Promise<number>(() => {}));
      return undefined;
    })[Symbol.asyncIterator]();
    const next = iterator.next();
    expect(await iterator.return?.()).toEqual(DONE);
    expect(await next).toEqual(DONE);
    expect(seen[0]?.aborted).toBe(true);
  });
});
