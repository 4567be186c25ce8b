/** What a page of groups costs, and what a caller may learn from it. */
import { expect, test } from "vitest";
import { encodeRecord } from "../codec.js";
import { EMPTY_RECORD } from "../record.js";
import { MemoryStore } from "../store/memory-store.js";
import { VirtualClock } from "../testing/virtual-clock.js";
import { StoreElector } from "./store-elector.js";

/** Counts how much is done between two turns of the event loop. */
class TurnClock extends VirtualClock {
  turns = 0;

  override soon(callback: () => void): void {
    super.soon(() => {
      this.turns++;
      callback();
    });
  }
}

async function withGroups(count: number): Promise<{ clock: TurnClock; elector: StoreElector }> {
  const store = new MemoryStore();
  const value = encodeRecord({ ...EMPTY_RECORD, term: 1 });
  await store.compareAndSet(
    Array.from({ length: count }, (_, i) => ({ key: `r/${idOf(i)}`, expected: null, value })),
  );
  const clock = new TurnClock();
  const elector = StoreElector.open({ store, clock, random: () => 0.5 });
  await elector.ping();
  return { clock, elector };
}

const idOf = (i: number): string => `g${String((i * 7919) % 20_000).padStart(5, "0")}`;

test("a page looks at no more groups than a page and a slice, whatever its prefix and cursor", async () => {
  const { elector } = await withGroups(20_000);
  for (const query of [{}, { cursor: "g10000" }, { prefix: "g15" }, { prefix: "g15", cursor: "g15500" }]) {
    let asked = 0;
    const maySee = (): boolean => ++asked > 0;
    const page = await elector.groups({ ...query, limit: 100 }, { maySee });
    expect(page.groups).toHaveLength(100);
    expect(asked).toBe(101);
  }
  await elector.close();
});

test("a caller who may see nothing is answered after a walk in slices, each in a turn of its own", async () => {
  const { clock, elector } = await withGroups(20_000);
  let asked = 0;
  let mostInATurn = 0;
  let inTurn = 0;
  let turn = -1;
  const maySee = (): boolean => {
    asked++;
    inTurn = clock.turns === turn ? inTurn + 1 : 1;
    turn = clock.turns;
    mostInATurn = Math.max(mostInATurn, inTurn);
    return false;
  };
  const pages = await Promise.all(
    Array.from({ length: 5 }, () => elector.groups({ limit: 1000 }, { maySee })),
  );
  for (const page of pages) expect(page).toEqual({ groups: [], cursor: null });
  expect(asked).toBe(100_000);
  // Five callers at once share the turns: none of these holds more than one slice.
  expect(mostInATurn).toBeLessThanOrEqual(250);
  await elector.close();
});

test("a walk ends when its caller has gone", async () => {
  const { clock, elector } = await withGroups(20_000);
  const controller = new AbortController();
  let asked = 0;
  const maySee = (): boolean => {
    if (++asked === 1000) controller.abort(new Error("gone"));
    return false;
  };
  await expect(elector.groups({}, { maySee, signal: controller.signal })).rejects.toThrow("gone");
  await clock.advance(0);
  expect(asked).toBe(1000);
  await elector.close();
});
