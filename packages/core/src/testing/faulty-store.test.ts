import { describe, expect, it } from "vitest";
import { BackendUnavailableError, ClosedError } from "../errors.js";
import { MemoryStore } from "../store/memory-store.js";
import type { CasOutcome, FeedItem, Revision } from "../store/store.js";
import { type FaultPlan, noFaults } from "./fault-plan.js";
import { FaultyStore } from "./faulty-store.js";
import { Random } from "./random.js";
import { VirtualClock } from "./virtual-clock.js";

function set(key: string, expected: Revision | null, value: string) {
  return [{ key, expected, value }];
}

async function world(faults: Partial<FaultPlan> = {}, seed = 1) {
  const time = new VirtualClock();
  const inner = new MemoryStore();
  const gate = time.process();
  const plan = { ...noFaults(), ...faults };
  const store = new FaultyStore({ store: inner, time, random: new Random(seed), plan, gate });
  return { time, inner, gate, plan, store };
}

/** The state of a promise so far. */
function look<T>(promise: Promise<T>): { value?: T; error?: unknown } {
  const seen: { value?: T; error?: unknown } = {};
  promise.then(
    (value) => {
      seen.value = value;
    },
    (error: unknown) => {
      seen.error = error;
    },
  );
  return seen;
}

function kind(seen: { value?: CasOutcome[] }): string | undefined {
  return seen.value?.[0]?.kind;
}

async function current(inner: MemoryStore, key: string): Promise<string | undefined> {
  for await (const item of inner.feed()) return item.entries.find((entry) => entry.key === key)?.value;
  return undefined;
}

describe("FaultyStore: mixed outcomes in a batch", () => {
  it("a batch with mixed faults has swapped, conflict and uncertain outcomes, and uncertain ones are written at once, later or never", async () => {
    const { store, time, inner } = await world({ mixedRate: 1, lateMs: 50 });
    const keys = Array.from({ length: 64 }, (_, i) => `k${i}`);
    const seen = look(store.compareAndSet(keys.map((key) => ({ key, expected: null, value: "1" }))));
    await time.advance(0);
    const outcomes = seen.value ?? [];
    expect(new Set(outcomes.map(({ kind: each }) => each))).toEqual(
      new Set(["swapped", "conflict", "uncertain"]),
    );
    const written = async () => {
      const present = await Promise.all(keys.map((key) => current(inner, key)));
      return outcomes.map(({ kind: each }, i) => `${each} ${present[i] === "1"}`);
    };
    const atOnce = await written();
    await time.advance(100);
    const later = await written();
    expect(new Set(later)).toEqual(
      new Set(["swapped true", "conflict false", "uncertain true", "uncertain false"]),
    );
    expect(later).not.toEqual(atOnce);
  });
});

describe("FaultyStore: silent feeds", () => {
  it("a silent feed delivers nothing more and does not end, while new feeds go on", async () => {
    const { store, time } = await world();
    const read = () => store.feed()[Symbol.asyncIterator]();
    const silent = read();
    await time.advance(1);
    expect(await silent.next()).toMatchObject({ value: { kind: "snapshot" } });
    store.silenceFeeds();
    const next = look(silent.next());
    void store.compareAndSet(set("a", null, "1"));
    await time.advance(1000);
    expect(next).toEqual({});
    const other = read();
    await time.advance(1);
    expect(await other.next()).toMatchObject({ value: { entries: [{ key: "a", value: "1" }] } });
  });
});

describe("FaultyStore: writes", () => {
  it("a write takes requestMs to land and answerMs to return", async () => {
    const { store, time, inner } = await world({ requestMs: [10, 10], answerMs: [5, 5] });
    const seen = look(store.compareAndSet(set("a", null, "1")));
    await time.advance(9);
    expect(await current(inner, "a")).toBeUndefined();
    await time.advance(2);
    expect(await current(inner, "a")).toBe("1");
    expect(seen.value).toBeUndefined();
    await time.advance(5);
    expect(seen.value).toEqual([{ kind: "swapped", revision: 1 }]);
  });

  it("a write may be refused without a cause, and the conflict shows the current entry", async () => {
    const { store, time, plan, inner } = await world();
    await inner.compareAndSet(set("a", null, "1"));
    plan.conflictRate = 1;
    const seen = look(store.compareAndSet(set("a", 1, "2")));
    await time.advance(1);
    expect(seen.value).toEqual([{ kind: "conflict", current: { key: "a", value: "1", revision: 1 } }]);
    expect(await current(inner, "a")).toBe("1");
  });

  it.each([
    ["lost on its way", { lostRequestRate: 1 }, undefined],
    ["written, its answer lost", { lostAnswerRate: 1 }, "1"],
  ] as const)("a write is uncertain when %s", async (_, faults, written) => {
    const { store, time, inner } = await world(faults);
    const seen = look(store.compareAndSet(set("a", null, "1")));
    await time.advance(99);
    expect(seen.value).toBeUndefined();
    await time.advance(2);
    expect(kind(seen)).toBe("uncertain");
    expect(await current(inner, "a")).toBe(written);
  });

  it("an uncertain write may land late, even after its process was killed", async () => {
    const { store, time, inner, gate } = await world({ lateRate: 1, lateMs: 1500, giveUpMs: [10, 10] }, 5);
    const seen = look(store.compareAndSet(set("a", null, "1")));
    await time.advance(11);
    expect(kind(seen)).toBe("uncertain");
    expect(await current(inner, "a")).toBeUndefined();
    gate.kill();
    store.abandon();
    await time.advance(1500);
    expect(await current(inner, "a")).toBe("1");
  });

  it("a write is uncertain if aborted after sending, and rejects if aborted before", async () => {
    const { store, time, inner } = await world({ requestMs: [10, 10] });
    const controller = new AbortController();
    const seen = look(store.compareAndSet(set("a", null, "1"), { signal: controller.signal }));
    await time.advance(1);
    controller.abort(new Error("enough"));
    await time.advance(0);
    expect(kind(seen)).toBe("uncertain");
    await time.advance(20);
    expect(await current(inner, "a")).toBe("1");
    const signal = AbortSignal.abort(new Error("before"));
    await expect(store.compareAndSet(set("a", 1, "2"), { signal })).rejects.toThrow("before");
  });

  it("a write in an outage fails, mostly by refusal and sometimes by silence, and never lands", async () => {
    const { store, time, plan, inner } = await world({ outageUntilMs: 1000 });
    const writes = Array.from({ length: 40 }, () => look(store.compareAndSet(set("a", null, "1"))));
    const sync = look(store.sync());
    await time.advance(200);
    expect(writes.filter((seen) => seen.error instanceof BackendUnavailableError).length).toBeGreaterThan(20);
    expect(writes.filter((seen) => kind(seen) === "uncertain").length).toBeGreaterThan(5);
    expect(sync.error).toBeInstanceOf(BackendUnavailableError);
    await time.advance(1000);
    expect(await current(inner, "a")).toBeUndefined();
    expect(time.monotonicMs()).toBeGreaterThan(plan.outageUntilMs);
    const after = look(store.sync());
    await time.advance(1);
    expect(after.value).toBe(0);
  });

  it("a paused process gets its answers when it is resumed, and a killed one gets none", async () => {
    const { store, time, gate } = await world({ requestMs: [10, 10] });
    const seen = look(store.compareAndSet(set("a", null, "1")));
    gate.pause();
    await time.advance(50);
    expect(seen.value).toBeUndefined();
    gate.resume();
    await time.advance(0);
    expect(kind(seen)).toBe("swapped");
    const other = look(store.sync());
    gate.kill();
    await time.advance(1000);
    expect(other).toEqual({});
  });
});

describe("FaultyStore: feeds", () => {
  function follow(store: FaultyStore, signal?: AbortSignal) {
    const items: FeedItem[] = [];
    const end: { reason?: unknown } = {};
    const run = async () => {
      try {
        for await (const item of store.feed(signal === undefined ? {} : { signal })) items.push(item);
      } catch (reason) {
        end.reason = reason;
      }
    };
    void run();
    return { items, end };
  }

  it("a feed delivers a snapshot and each change, in order and after its delay", async () => {
    const { store, time, inner } = await world({ feedMs: [1, 30] });
    await inner.compareAndSet(set("a", null, "0"));
    const { items } = follow(store);
    await time.advance(40);
    expect(items).toEqual([
      { kind: "snapshot", entries: [{ key: "a", value: "0", revision: 1 }], revision: 1 },
    ]);
    for (let i = 1; i <= 20; i++) {
      await inner.compareAndSet(set("a", i, String(i)));
      await time.advance(2);
    }
    await time.advance(40);
    const revisions = items.slice(1).flatMap((item) => item.entries.map((entry) => entry.revision));
    expect(revisions).toEqual(Array.from({ length: 20 }, (_, i) => i + 2));
  });

  it("a stalled feed continues where it stopped", async () => {
    const { store, time, inner, plan } = await world();
    const { items } = follow(store);
    await time.advance(1);
    plan.feedStalledUntilMs = 500;
    await inner.compareAndSet(set("a", null, "1"));
    await time.advance(400);
    expect(items).toHaveLength(1);
    await time.advance(200);
    expect(items).toHaveLength(2);
  });

  it("a broken feed throws BackendUnavailableError, an aborted one the signal's reason, a closed one ClosedError", async () => {
    const { store, time } = await world();
    const controller = new AbortController();
    const broken = follow(store);
    await time.advance(1);
    store.breakFeeds();
    const aborted = follow(store, controller.signal);
    await time.advance(1);
    controller.abort(new Error("enough"));
    const closed = follow(store);
    await time.advance(1);
    await store.close();
    await time.advance(1);
    expect(broken.end.reason).toBeInstanceOf(BackendUnavailableError);
    expect(aborted.end.reason).toEqual(new Error("enough"));
    expect(closed.end.reason).toBeInstanceOf(ClosedError);
    const late = follow(store);
    await time.advance(1);
    expect(late.end.reason).toBeInstanceOf(ClosedError);
  });

  it("a feed cannot be opened in an outage", async () => {
    const { store, time } = await world({ outageUntilMs: 100 });
    const { end } = follow(store);
    await time.advance(1);
    expect(end.reason).toBeInstanceOf(BackendUnavailableError);
  });

  it("a feed leaves out superseded values, and never reports progress past one before its successor", async () => {
    let leftOut = 0;
    for (let seed = 1; seed <= 50; seed++) {
      const { store, time, inner } = await world({ feedMs: [0, 60], coalesceRate: 0.7 }, seed);
      const random = new Random(seed);
      const truth: { key: string; revision: Revision }[] = [];
      const { items } = follow(store);
      await time.advance(100);
      const revisions = new Map<string, Revision>();
      for (let i = 0; i < 40; i++) {
        const key = random.pick(["a", "b", "c"]);
        const [outcome] = await inner.compareAndSet(set(key, revisions.get(key) ?? null, String(i)));
        if (outcome?.kind !== "swapped") throw new Error("a write of the test failed");
        revisions.set(key, outcome.revision);
        truth.push({ key, revision: outcome.revision });
        await time.advance(random.between(0, 8));
      }
      await time.advance(200);
      const seen = new Map<string, Revision>();
      let last = 0;
      let delivered = 0;
      for (const { entries, revision } of items) {
        for (const entry of entries) {
          expect(entry.revision).toBeGreaterThan(last);
          last = entry.revision;
          delivered++;
          seen.set(entry.key, entry.revision);
        }
        for (const write of truth) {
          if (write.revision <= revision) expect(seen.get(write.key)).toBeGreaterThanOrEqual(write.revision);
        }
      }
      expect(items.at(-1)?.revision).toBe(truth.at(-1)?.revision);
      leftOut += truth.length - delivered;
    }
    expect(leftOut).toBeGreaterThan(200);
  });
});
