import { expect, test } from "vitest";
import { BackendUnavailableError, GroupNotFoundError } from "../errors.js";
import { MemoryStore } from "../store/memory-store.js";
import { StoreElector } from "./store-elector.js";
import { A, B, claimOf, failureOf, inWorld, lostAnswer, refused, stateOf } from "./world.test-kit.js";

test(
  "an aborted watch ends at once although the store is silent",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    store.fallSilent();
    const controller = new AbortController();
    const watch = elector.watch("g", { signal: controller.signal })[Symbol.asyncIterator]();
    const failure = failureOf(watch.next());
    await w.clock.advance(0);
    controller.abort(new Error("gone"));
    await w.clock.advance(0);
    expect(await stateOf(failure)).toBe("fulfilled");
    expect(await failure).toMatchObject({ message: "gone" });
  }),
);

test(
  "an aborted watch delivers no further event",
  inWorld(async (w) => {
    const { elector } = w.server();
    await elector.campaign(A);
    const watch = elector.watch("g", { signal: AbortSignal.abort(new Error("gone")) });
    await expect(w.until(watch[Symbol.asyncIterator]().next())).rejects.toThrow("gone");
  }),
);

test(
  "a watch on a silent store ends with BackendUnavailableError within five seconds",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    store.fallSilent();
    const { value, tookMs } = await w.until(failureOf(elector.watch("g")[Symbol.asyncIterator]().next()));
    expect(value).toBeInstanceOf(BackendUnavailableError);
    expect(tookMs).toBeLessThanOrEqual(5000);
  }),
);

test(
  "sixty watches cause no process warning",
  inWorld(async (w) => {
    const warnings: Error[] = [];
    const heard = (warning: Error) => warnings.push(warning);
    process.on("warning", heard);
    const { elector } = w.server();
    const controller = new AbortController();
    const plain = Array.from({ length: 30 }, () => elector.watch("g")[Symbol.asyncIterator]());
    const withSignal = Array.from({ length: 30 }, () =>
      elector.watch("g", { signal: controller.signal })[Symbol.asyncIterator](),
    );
    for (const each of [...plain, ...withSignal]) await each.next();
    const pending = [...plain, ...withSignal].map((each) => failureOf(each.next()));
    await w.until(elector.close());
    await Promise.all(pending);
    await w.clock.advance(0);
    process.off("warning", heard);
    expect(warnings).toEqual([]);
  }),
);

test(
  "a watch shows every event once and in order, even if feeds break and leave values out",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.farServer();
    two.plan.feedMs = [0, 40];
    two.plan.coalesceRate = 0.8;
    await w.clock.advance(0);
    const seen: number[] = [];
    const watch = two.elector.watch("g", { cursor: 0 })[Symbol.asyncIterator]();
    const reading = failureOf(
      (async () => {
        for (;;) {
          const { value } = (await watch.next()) as { value: { type: string; cursor: number } };
          expect(value.type).not.toBe("RESYNC");
          seen.push(value.cursor);
        }
      })(),
    );
    for (let term = 1; term <= 20; term++) {
      await one.elector.campaign(A);
      await one.elector.resign(claimOf(A, term));
      if (term % 5 === 0) two.feeds.breakFeeds();
      await w.clock.advance(term % 7);
    }
    await w.clock.advance(1000);
    expect(seen).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
    await watch.return?.();
    await w.clock.advance(0);
    expect(await stateOf(reading)).toBe("fulfilled");
  }),
);

test(
  "a watch that missed more events than are kept gets one RESYNC, after a sync, and then continues",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    for (let term = 1; term <= 40; term++) {
      await elector.campaign(A);
      await elector.resign(claimOf(A, term));
    }
    await w.clock.advance(10);
    const syncs = store.syncs;
    const watch = elector.watch("g", { cursor: 3 })[Symbol.asyncIterator]();
    expect((await watch.next()).value).toMatchObject({ type: "RESYNC", cursor: 80, term: 40 });
    expect(store.syncs).toBe(syncs + 1);
    await elector.campaign(B);
    expect((await watch.next()).value).toMatchObject({ type: "LEADER_CHANGED", cursor: 81, term: 41 });
    // All that are kept: sixty-four events.
    const whole = elector.watch("g", { cursor: 17 })[Symbol.asyncIterator]();
    expect((await whole.next()).value).toMatchObject({ cursor: 18 });
  }),
);

test(
  "an event whose write was uncertain is shown once",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    const watch = elector.watch("g", { cursor: 0 })[Symbol.asyncIterator]();
    store.next("r/", lostAnswer);
    store.next("h/", refused);
    await w.until(elector.campaign(A));
    expect((await watch.next()).value).toMatchObject({ cursor: 1, leaderNodeId: "a" });
    await elector.resign(claimOf(A, 1));
    expect((await watch.next()).value).toMatchObject({ cursor: 2, leaderNodeId: null });
  }),
);

test(
  "a group that was not created can be neither read nor watched if groups must be created first",
  inWorld(async (w) => {
    const elector = StoreElector.open({ store: new MemoryStore(), clock: w.clock, explicitGroups: true });
    await expect(elector.leader("g")).rejects.toBeInstanceOf(GroupNotFoundError);
    for (const cursor of [undefined, 0, 7]) {
      const watch = elector.watch("g", { cursor })[Symbol.asyncIterator]();
      await expect(watch.next()).rejects.toBeInstanceOf(GroupNotFoundError);
    }
    await elector.createGroup({ groupId: "g" });
    expect(await elector.leader("g")).toMatchObject({ leader: null, term: 0 });
    await elector.close();
  }),
);
