/** How walks over all groups affect other calls, and what a page reveals to a caller. */
import { expect, test } from "vitest";
import { encodeRecord } from "../codec.js";
import type { WatchEvent } from "../elector.js";
import type { LeadershipEvent } from "../event.js";
import { EMPTY_RECORD } from "../record.js";
import { MemoryStore } from "../store/memory-store.js";
import { VirtualClock } from "../testing/virtual-clock.js";
import { StoreElector } from "./store-elector.js";

/** Counts the work done between two turns of the event loop. */
class TurnClock extends VirtualClock {
  turns = 0;

  override soon(callback: () => void): void {
    // As in a process: consequences come before the next turn.
    setImmediate(() => {
      this.turns++;
      callback();
    });
  }
}

async function withGroups(count: number): Promise<{ clock: TurnClock; elector: StoreElector }> {
  const store = new MemoryStore();
  const holder = { nodeId: "a", instanceId: null, ttlMs: 60_000, priority: 0, metadata: null };
  const value = encodeRecord({
    ...EMPTY_RECORD,
    term: 1,
    holder,
    holdMs: 60_600,
    eventNumber: 1,
    events: [FIRST],
  });
  await store.compareAndSet(
    Array.from({ length: count }, (_, i) => ({ key: `r/${idOf(i)}`, expected: null, value })),
  );
  const clock = new TurnClock();
  const elector = StoreElector.open({ store, clock, random: () => 0.5 });
  await elector.ping();
  return { clock, elector };
}

const FIRST: LeadershipEvent = {
  number: 1,
  type: "LEADER_CHANGED",
  term: 1,
  leaderNodeId: "a",
  previousLeaderNodeId: null,
  reason: "none",
  tsMs: 0,
};

const idOf = (i: number): string => `g${String((i * 7919) % 20_000).padStart(5, "0")}`;

test("a page examines at most its own size plus one slice of groups, whatever its prefix and cursor", async () => {
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

test("a caller that may see no group is answered after a walk in slices, each in its own turn", async () => {
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
  // Five concurrent callers share the turns: no turn has more than one slice.
  expect(mostInATurn).toBeLessThanOrEqual(250);
  await elector.close();
});

test("a walk over groups ends when its caller has disconnected", async () => {
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

async function statesOf(watch: AsyncIterable<WatchEvent>): Promise<WatchEvent[]> {
  const states: WatchEvent[] = [];
  for await (const event of watch) {
    states.push(event);
    if (event.partial !== true) break;
  }
  return states;
}

test("watchers that get every state take turns in slices, and renewals go between them", async () => {
  const { clock, elector } = await withGroups(5000);
  const mostStates: number[] = [];
  let turn = -1;
  const maySee = (): boolean => {
    if (clock.turns === turn) mostStates[mostStates.length - 1]!++;
    else mostStates.push(1);
    turn = clock.turns;
    return true;
  };
  const watches = Array.from({ length: 8 }, (_, i) =>
    statesOf(elector.watchAll({ maySee, ...(i % 2 === 0 ? {} : { cursor: 0 }) })),
  );
  await clock.advance(0);
  let renewedAfter: number | null = null;
  const startedAt = clock.turns;
  const renewal = elector
    .renew({ groupId: idOf(42), nodeId: "a", term: 1, ttlMs: 60_000 })
    .then(({ kind }) => {
      renewedAfter = clock.turns - startedAt;
      return kind;
    });
  const states = await Promise.all(watches);
  expect(states.map((each) => each.length)).toEqual(Array.from({ length: 8 }, () => 5000));
  expect(states.every((each) => new Set(each.map(({ groupId }) => groupId)).size === 5000)).toBe(true);
  expect(Math.max(...mostStates)).toBeLessThanOrEqual(250);
  expect(await renewal).toBe("renewed");
  // 160 slices in all: the renewal does not wait for them.
  expect(renewedAfter).toBeLessThan(10);
  await elector.close();
});

test("states sent over many turns are all as of their cursor", async () => {
  const { clock, elector } = await withGroups(1000);
  const watch = elector.watchAll()[Symbol.asyncIterator]();
  const first = (await watch.next()).value as WatchEvent;
  const ids = Array.from({ length: 1000 }, (_, i) => idOf(i));
  const last = ids.sort().at(-1) as string;
  // One group whose state was shown, and one whose state is still to come.
  for (const groupId of [first.groupId, last]) {
    await elector.resign({ groupId, nodeId: "a", term: 1 });
  }
  await clock.advance(10);
  const rest: WatchEvent[] = [];
  while (rest.length < 1001) rest.push((await watch.next()).value as WatchEvent);
  expect(rest.slice(0, 999).every(({ type }) => type === "LEADER_CHANGED")).toBe(true);
  expect(rest.slice(999).map(({ type, groupId }) => [type, groupId])).toEqual([
    ["LEADER_LOST", first.groupId],
    ["LEADER_LOST", last],
  ]);
  // A reader that resumes from the last state, here or at another server, gets the same events.
  const again = elector.watchAll({ cursor: rest[998]?.cursor })[Symbol.asyncIterator]();
  expect((await again.next()).value).toEqual(rest[999]);
  await watch.return?.();
  await again.return?.();
  await elector.close();
});
