import type { Elector, WatchEvent, WatchOptions } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { expect, test } from "vitest";
import { LeaderWatch } from "./leader-watch.js";
import { parseRetry } from "./options.js";
import type { KnownLeader } from "./state.js";

/** A watch that reports nothing by itself, with the options it was opened with. */
function watching(ttlMs = 8000) {
  const clock = new VirtualClock();
  const told: (KnownLeader & { previousId: string | null })[] = [];
  const contacts: unknown[] = [];
  let options: WatchOptions = {};
  let answer: unknown = null;
  const elector = {
    leader: () => Promise.resolve(answer),
    watch: (_: string, given: WatchOptions): AsyncIterable<WatchEvent> => {
      options = given;
      return { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) };
    },
  } as unknown as Elector;
  const watch = new LeaderWatch({
    elector,
    groupId: "g",
    ttlMs,
    heartbeatIntervalMs: ttlMs / 5,
    connectionTimeoutMs: (ttlMs / 5) * 0.75,
    clock,
    random: () => 0.5,
    retry: parseRetry({}),
    changed: (leader, previousId) => told.push({ ...leader, previousId }),
    contact: (error) => contacts.push(error),
  });
  const stopping = new AbortController();
  void watch.run(stopping.signal);
  const ask = (leader: object | null, term: number) => {
    answer = { leader, term };
    return watch.ask();
  };
  return { clock, watch, told, contacts, options, ask, signal: stopping.signal };
}

test.each([
  { ttlMs: 8000, silenceMs: 4000, quietMs: 2800 },
  { ttlMs: 5000, silenceMs: 2500, quietMs: 1750 },
  { ttlMs: 2500, silenceMs: 2500, quietMs: 875 },
  { ttlMs: 1000, silenceMs: 2500, quietMs: 875 },
])(
  "a watch at ttl $ttlMs allows silence of half the ttl, and reports quiet after a heartbeat and connectionTimeoutMs, within bounds",
  ({ ttlMs, silenceMs, quietMs }) => {
    expect(watching(ttlMs).options).toMatchObject({ silenceMs, quietMs });
  },
);

test("a vacancy shown by a read is reported, and older news does not replace it", async () => {
  const { watch, told, ask } = watching();
  watch.note({ nodeId: "a", term: 3, reason: "none" }, null);
  await ask(null, 3);
  await ask({ nodeId: "a", term: 2 }, 2);
  expect(told.slice(1)).toEqual([{ nodeId: null, term: 3, reason: "none", previousId: "a" }]);
});

test("the reason of a vacancy that a read has shown comes with the watch", async () => {
  const { watch, told, ask } = watching();
  watch.note({ nodeId: "a", term: 3, reason: "none" }, null);
  await ask(null, 3);
  watch.note({ nodeId: null, term: 3, reason: "resigned" }, "a");
  watch.note({ nodeId: null, term: 3, reason: "resigned" }, "a");
  expect(watch.known).toMatchObject({ nodeId: null, reason: "resigned" });
  expect(told.map(({ reason }) => reason)).toEqual(["none", "none", "resigned"]);
});

test("changed() resolves when a watch that had lost all servers has reached one again", async () => {
  const { clock, watch, contacts, options, signal } = watching();
  let hasEnded = false;
  void watch.changed(60_000, signal).then(() => (hasEnded = true));
  options.onContact?.(null);
  await clock.advance(0);
  expect(hasEnded).toBe(false);
  options.onContact?.(new Error("no server answered"));
  await clock.advance(100);
  expect(hasEnded).toBe(false);
  options.onContact?.(null);
  await clock.advance(0);
  expect(hasEnded).toBe(true);
  expect(contacts).toEqual([null, expect.any(Error), null]);
});
