/** The history of a group: no event is lost or duplicated when writes of it fail. */
import { expect, test } from "vitest";
import { encodeRecord } from "../codec.js";
import { BackendUnavailableError } from "../errors.js";
import {
  A,
  B,
  claimOf,
  failureOf,
  inWorld,
  late,
  lostAnswer,
  lostRequest,
  refused,
  slowly,
  wonBy,
} from "./world.test-kit.js";

const numbers = (events: readonly { readonly number: number }[]) => events.map(({ number }) => number);
const upTo = (last: number) => Array.from({ length: last }, (_, i) => i + 1);

test(
  "a history that cannot be written delays a campaign for a limited time only",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await w.clock.advance(0);
    store.always("h/", slowly(w.clock, 100, lostRequest));
    for (let term = 1; term <= 2; term++) {
      await w.until(elector.campaign(A));
      await w.until(elector.resign(claimOf(A, term)));
    }
    const failures = [A, B].map((each) => failureOf(elector.campaign(each)));
    const { value, tookMs } = await w.until(Promise.all(failures));
    for (const each of value) expect(each).toBeInstanceOf(BackendUnavailableError);
    expect(tookMs).toBeLessThanOrEqual(5000);
    store.mend();
    expect(wonBy((await w.until(elector.campaign(A))).value)).toBe("a");
    expect(numbers((await elector.history("g")).events)).toEqual(upTo(5));
  }),
);

test(
  "a history left behind is repaired even while the leader renews often",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    store.next("h/", refused);
    await elector.campaign(A);
    for (let i = 0; i < 20; i++) {
      await w.clock.advance(300);
      await elector.renew({ ...claimOf(A, 1), ttlMs: 1000 });
    }
    expect(numbers(await w.history())).toEqual([1]);
  }),
);

test(
  "the history is written before a record write that would drop an event it lacks",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await w.clock.advance(0);
    store.always("h/", refused);
    for (let term = 1; term <= 2; term++) {
      await elector.campaign(A);
      await elector.resign(claimOf(A, term));
    }
    expect(numbers(await w.history())).toEqual([]);
    // Four events fit into the record; a fifth needs the history.
    expect((await w.until(failureOf(elector.campaign(A)))).value).toBeInstanceOf(BackendUnavailableError);
    expect(await w.record()).toMatchObject({ term: 2, eventNumber: 4, holder: null });
    store.mend();
    expect(wonBy((await w.until(elector.campaign(A))).value)).toBe("a");
    await w.clock.advance(10);
    expect(numbers(await w.history())).toEqual(upTo(5));
  }),
);

test(
  "a write that adds no event succeeds although the history cannot be written",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await w.clock.advance(0);
    store.always("h/", refused);
    await elector.campaign(A);
    await elector.resign(claimOf(A, 1));
    await elector.campaign(A);
    await elector.resign(claimOf(A, 2));
    await elector.pause({ groupId: "g" });
    expect(await w.record()).toMatchObject({ pause: { leftMs: null } });
  }),
);

test.each([
  ["refused", refused],
  ["lost", lostRequest],
  ["written unanswered", lostAnswer],
] as const)("history writes that are %s lose no event", (_name, fate) =>
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    for (let term = 1; term <= 12; term++) {
      const { elector, store } = term % 2 === 0 ? one : two;
      store.next("h/", fate, term % 3);
      expect((await w.until(elector.campaign({ ...A, waitMs: 5000 }))).value.kind).toBe("elected");
      await w.until(elector.resign(claimOf(A, term)));
    }
    await w.clock.advance(5000);
    expect(numbers(await w.history())).toEqual(upTo(24));
    for (const { elector } of [one, two]) {
      expect(numbers((await w.until(elector.history("g"))).value.events)).toEqual(upTo(24));
    }
  })(),
);

test(
  "late history writes neither lose nor duplicate an event",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    for (let term = 1; term <= 12; term++) {
      store.next("h/", late(w.clock, 5 * term));
      await w.until(elector.campaign({ ...A, waitMs: 5000 }));
      await w.clock.advance(term);
      await w.until(elector.resign(claimOf(A, term)));
    }
    await w.clock.advance(5000);
    expect(numbers(await w.history())).toEqual(upTo(24));
  }),
);

test(
  "a history write missed by a server that died is repaired by another server",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    one.store.always("h/", refused);
    await one.elector.campaign(A);
    await one.elector.resign(claimOf(A, 1));
    await w.until(one.elector.close());
    expect(numbers(await w.history())).toEqual([]);
    await w.clock.advance(900);
    expect(two.store.sentTo("h/")).toBe(0);
    await w.clock.advance(2000);
    expect(numbers(await w.history())).toEqual(upTo(2));
    expect(two.store.sentTo("h/")).toBe(1);
  }),
);

test(
  "all events are kept if the writer dies before its history write and four more events follow",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    one.store.always("h/", refused);
    await one.elector.campaign(A);
    await one.elector.resign(claimOf(A, 1));
    await w.until(one.elector.close());
    for (let term = 2; term <= 4; term++) {
      await w.until(two.elector.campaign(B));
      await w.until(two.elector.resign(claimOf(B, term)));
    }
    await w.clock.advance(10);
    expect(numbers(await w.history())).toEqual(upTo(8));
  }),
);

test(
  "each change costs one history write, and a renewal none",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    await one.elector.campaign(A);
    for (let i = 0; i < 10; i++) {
      await w.clock.advance(300);
      await one.elector.renew({ ...claimOf(A, 1), ttlMs: 1000 });
    }
    await one.elector.resign(claimOf(A, 1));
    await w.clock.advance(10_000);
    expect(one.store.sentTo("h/")).toBe(2);
    expect(two.store.sentTo("h/")).toBe(0);
  }),
);

test(
  "a group with an unreadable history decides nothing and overwrites nothing",
  inWorld(async (w) => {
    const { elector } = w.server();
    await elector.campaign(A);
    await w.clock.advance(10);
    const entry = await w.entry("h/g");
    await w.truth.compareAndSet([{ key: "h/g", expected: entry?.revision ?? null, value: '{"v":9}' }]);
    await w.clock.advance(0);
    expect((await w.until(failureOf(elector.resign(claimOf(A, 1))))).value).toBeInstanceOf(
      BackendUnavailableError,
    );
    await w.clock.advance(10_000);
    expect((await w.entry("h/g"))?.value).toBe('{"v":9}');
  }),
);

test(
  "event numbers and terms survive the deletion of a group",
  inWorld(async (w) => {
    const { elector } = w.server();
    await elector.campaign(A);
    await elector.deleteGroup({ groupId: "g", by: "ops", force: true });
    await elector.campaign(B);
    expect(await w.record()).toMatchObject({ term: 2, eventNumber: 3 });
    expect(numbers((await elector.history("g")).events).slice(-2)).toEqual([2, 3]);
  }),
);

test(
  "an act follows those of the history, although a version that does not know acts has written the record since",
  inWorld(async (w) => {
    const { elector } = w.server();
    await elector.campaign(A);
    await elector.pause({ groupId: "g", by: "jane", reason: "migration" });
    await elector.resume({ groupId: "g", by: "jane" });
    await w.clock.advance(10);
    const entry = await w.entry("r/g");
    const record = await w.record();
    await w.truth.compareAndSet([
      { key: "r/g", expected: entry?.revision ?? null, value: encodeRecord({ ...record, act: null }) },
    ]);
    await w.clock.advance(10);
    await elector.pause({ groupId: "g", by: "john" });
    await elector.resume({ groupId: "g", by: "john" });
    const { acts } = await elector.history("g");
    expect(acts.map(({ number, act, by }) => [number, act, by])).toEqual([
      [1, "pause", "jane"],
      [2, "resume", "jane"],
      [3, "pause", "john"],
      [4, "resume", "john"],
    ]);
  }),
);
