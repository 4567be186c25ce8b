/**
 * How a store recovers from a failed write: attempts with a backoff, in slices, and without checking its own file
 * again.
 */
import { readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CancelTimer, Clock, Store } from "@tenure/core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { EmbeddedStore } from "./embedded-store.js";
import { Child } from "./fixtures/child.test.helper.js";

/** A clock that the test moves, and that counts how often a task yielded to the event loop. */
class HandClock implements Clock {
  readonly bootTickMs = 0;
  nowMs = 0;
  turns = 0;
  /** While true, no task that yielded continues. */
  isHeld = false;

  monotonicMs(): number {
    return this.nowMs;
  }

  bootMs(): number {
    return this.nowMs;
  }

  wallMs(): number {
    return this.nowMs;
  }

  soon(callback: () => void): void {
    this.turns++;
    if (!this.isHeld) setImmediate(callback);
  }

  after(): CancelTimer {
    throw new Error("an attempt is started by a call, not by a timer");
  }
}

let root = "";
let directory = "";
let count = 0;
let clock: HandClock;
let store: Store;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "tenure-reopening-"));
});
beforeEach(async () => {
  directory = join(root, `case-${count++}`);
  clock = new HandClock();
  store = await EmbeddedStore.open({ directory, clock });
});
afterEach(() => store.close());
afterAll(() => rm(root, { recursive: true, force: true }));

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
const marker = () => join(directory, "tenure.json");

/** Makes the store fail: another process claims the head, past the lock. */
async function breakStore(): Promise<void> {
  expect(await new Child("rogue.mjs", [directory]).ended).toEqual({ code: 0, signal: null });
  await expect(store.sync()).rejects.toThrow(/another process has taken/);
}

/** While it lasts, no attempt to open the directory succeeds. */
function obstruct(): { end(): void } {
  const text = readFileSync(marker());
  writeFileSync(marker(), '{"format":2}');
  return { end: () => writeFileSync(marker(), text) };
}

async function reasonOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => "answered",
    (error: unknown) => {
      const { code, message } = error as { code: string; message: string };
      return `${code}: ${message}`;
    },
  );
}

/** Calls without a pause until an answer matches; time stands still meanwhile. */
async function askUntil(pattern: RegExp): Promise<void> {
  while (!pattern.test(await reasonOf(store.sync()))) await nextTurn();
}

/** How long the store says it will wait before its next attempt. */
async function announcedMs(): Promise<number> {
  await askUntil(/next attempt in/);
  return Number(/next attempt in (\d+) ms/.exec(await reasonOf(store.sync()))?.[1]);
}

const write = (key: string) => store.compareAndSet([{ key, expected: null, value: "1" }]);

describe("backoff between attempts to open a failed store", () => {
  test("a call before the next attempt is refused with the reason and the time left, and starts no attempt", async () => {
    await breakStore();
    const reason = await reasonOf(store.sync());
    expect(reason).toMatch(/^BACKEND_UNAVAILABLE: .*another process has taken.*next attempt in 100 ms/);
    clock.nowMs = 99;
    for (let i = 0; i < 200; i++) {
      expect(await reasonOf(store.sync())).toMatch(/next attempt in 1 ms/);
      await nextTurn();
    }
    clock.nowMs = 100;
    expect(await reasonOf(store.sync())).toMatch(/^BACKEND_UNAVAILABLE: .*being opened again/);
    await askUntil(/answered/);
    expect((await write("r/a"))[0]?.kind).toBe("swapped");
  });

  test("failed attempts come at doubling distances up to five seconds, each reported with its own reason", async () => {
    await breakStore();
    const obstacle = obstruct();
    const waits: number[] = [];
    for (let attempt = 0; attempt < 9; attempt++) {
      waits.push(await announcedMs());
      clock.nowMs += waits.at(-1) ?? 0;
      await askUntil(/format 2.*next attempt in/);
    }
    expect(waits).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
    obstacle.end();
    clock.nowMs += 5000;
    await askUntil(/answered/);
  });

  test("a successful write ends the backoff, and a successful opening alone does not", async () => {
    await breakStore();
    clock.nowMs += 100;
    await askUntil(/answered/);
    await breakStore();
    expect(await announcedMs()).toBe(200);
    clock.nowMs += 200;
    await askUntil(/answered/);
    await write("r/a");
    await breakStore();
    expect(await announcedMs()).toBe(100);
  });
});

describe("opening a large store", () => {
  const entries = 6000;

  async function fill(): Promise<void> {
    const keys = Array.from({ length: entries }, (_, i) => `r/${i}`);
    await store.compareAndSet(keys.map((key) => ({ key, expected: null, value: "x".repeat(500) })));
  }

  /** Closes and opens the store, and returns how often that yielded to the event loop. */
  async function turnsOfOpening(): Promise<number> {
    await store.close();
    clock.turns = 0;
    store = await EmbeddedStore.open({ directory, clock });
    return clock.turns;
  }

  test("opening a large store yields to the event loop while it checks and loads, in proportion to its size", async () => {
    const turnsOfNone = await turnsOfOpening();
    await fill();
    const turns = await turnsOfOpening();
    // 500 bytes each: at most eight entries per page, and at most 256 pages or entries per slice.
    expect(turns - turnsOfNone).toBeGreaterThanOrEqual(Math.floor((entries / 8 + entries) / 256));
  });

  test("a file that only this process has had open since is neither checked nor loaded again", async () => {
    await fill();
    const turns = await turnsOfOpening();
    await store.close();
    // Room for a few writes, and no more.
    const fileBlocks = Math.ceil(statSync(join(directory, "data.mdb")).size / 512) + 400;
    const child = new Child("reopener.mjs", [directory], { fileBlocks });
    const told = JSON.parse((await child.line()) ?? "null") as { opening: number; reopening: number };
    expect(await child.ended).toEqual({ code: 0, signal: null });
    expect(told).toEqual({ opening: turns, reopening: 0 });
  });

  test("a file that was changed between two attempts is checked again, and damage refused", async () => {
    await fill();
    await breakStore();
    const obstacle = obstruct();
    clock.nowMs += 100;
    await askUntil(/format 2/);
    truncateSync(join(directory, "data.mdb"), 40_960);
    obstacle.end();
    clock.nowMs += 200;
    await askUntil(/is cut short/);
  });

  test("closing the store ends an opening between two slices", async () => {
    await fill();
    await breakStore();
    clock.nowMs += 100;
    clock.isHeld = true;
    clock.turns = 0;
    while (clock.turns === 0) {
      await reasonOf(store.sync());
      await nextTurn();
    }
    await store.close();
    expect(clock.turns).toBe(1);
    store = await EmbeddedStore.open({ directory });
    expect(await store.sync()).toBe(entries);
  });
});
