/** Callers that disconnected: a candidate that cannot know of its win does not keep it. */
import { expect, test } from "vitest";
import {
  A,
  B,
  C,
  claimOf,
  failureOf,
  Held,
  inWorld,
  lostAnswer,
  lostRequest,
  refused,
  wonBy,
} from "./world.test-kit.js";

test(
  "a campaign whose answer was lost takes nothing back, because the same instance may lead through another server",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    const controller = new AbortController();
    one.store.next("r/", lostRequest);
    const letSyncs = one.store.holdSyncs();
    const failure = failureOf(one.elector.campaign(A, { signal: controller.signal }));
    await w.clock.advance(0);
    expect(wonBy((await w.until(two.elector.campaign(A))).value)).toBe("a");
    controller.abort(new Error("gone"));
    expect(await failure).toMatchObject({ message: "gone" });
    letSyncs();
    await w.clock.advance(100);
    expect(await w.record()).toMatchObject({ term: 1, holder: { nodeId: "a" } });
  }),
);

test(
  "a waiting campaign whose grant's answer was lost takes nothing back",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    const controller = new AbortController();
    const failure = failureOf(elector.campaign({ ...B, waitMs: 60_000 }, { signal: controller.signal }));
    await w.clock.advance(0);
    store.next("r/", lostAnswer);
    const letSyncs = store.holdSyncs();
    const resign = elector.resign(claimOf(A, 1));
    await w.clock.advance(0);
    controller.abort(new Error("gone"));
    expect(await failure).toMatchObject({ message: "gone" });
    letSyncs();
    await w.until(resign);
    await w.clock.advance(100);
    expect(await w.record()).toMatchObject({ term: 2, holder: { nodeId: "b" } });
  }),
);

test(
  "a grant that met a conflict takes nothing back, even if its candidate holds that term",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    await w.until(one.elector.campaign(A));
    const controller = new AbortController();
    const failure = failureOf(one.elector.campaign({ ...B, waitMs: 60_000 }, { signal: controller.signal }));
    await w.clock.advance(0);
    const held = new Held();
    one.store.next("r/", held.fate);
    const resign = one.elector.resign(claimOf(A, 1));
    await held.arrived;
    // The same instance wins the same term elsewhere, before this write arrives.
    await w.until(two.elector.resign(claimOf(A, 1)));
    expect(wonBy((await w.until(two.elector.campaign(B))).value)).toBe("b");
    controller.abort(new Error("gone"));
    held.release();
    await failure;
    await w.until(resign);
    await w.clock.advance(100);
    expect(await w.record()).toMatchObject({ term: 2, holder: { nodeId: "b" } });
  }),
);

test(
  "a waiter that left is never elected, and the next one is",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    const controller = new AbortController();
    const failure = failureOf(elector.campaign({ ...B, waitMs: 60_000 }, { signal: controller.signal }));
    const next = elector.campaign({ ...C, waitMs: 60_000 });
    await w.clock.advance(10);
    controller.abort(new Error("gone"));
    expect(await failure).toMatchObject({ message: "gone" });
    expect((await w.until(next)).value).toMatchObject({
      kind: "elected",
      leader: { nodeId: "c", term: 2 },
      waitedMs: 1010,
    });
    expect(store.sent.filter(({ value }) => value.includes('"b1"'))).toEqual([]);
  }),
);

test(
  "a waiter that leaves while its grant is written passes it to the next waiter in one more write",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    const controller = new AbortController();
    const failure = failureOf(elector.campaign({ ...B, waitMs: 60_000 }, { signal: controller.signal }));
    const next = elector.campaign({ ...C, waitMs: 60_000 });
    await w.clock.advance(0);
    const held = new Held();
    store.next("r/", held.fate);
    const resign = elector.resign(claimOf(A, 1));
    await held.arrived;
    controller.abort(new Error("gone"));
    held.release();
    expect(await failure).toMatchObject({ message: "gone" });
    expect((await w.until(next)).value).toMatchObject({ kind: "elected", leader: { term: 3 } });
    expect(await resign).toEqual({ kind: "resigned" });
    const { events } = await elector.history("g");
    expect(events.map(({ type, term, by }) => [type, term, by])).toEqual([
      ["LEADER_CHANGED", 1, undefined],
      ["LEADER_LOST", 1, undefined],
      ["LEADER_CHANGED", 2, undefined],
      ["LEADER_LOST", 2, "tenure"],
      ["LEADER_CHANGED", 3, undefined],
    ]);
  }),
);

test(
  "a disconnected caller's win is taken back only at the revision of the win, so a lease confirmed since stays",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    const controller = new AbortController();
    const held = new Held();
    one.store.next("r/", async (apply, op) => {
      const outcome = await apply();
      await held.fate(async () => outcome, op);
      return outcome;
    });
    const failure = failureOf(one.elector.campaign(A, { signal: controller.signal }));
    await held.arrived;
    // The same process campaigned at another server and was confirmed there.
    expect((await w.until(two.elector.campaign(A))).value).toMatchObject({ kind: "elected" });
    controller.abort(new Error("gone"));
    held.release();
    await failure;
    await w.clock.advance(100);
    expect(await w.record()).toMatchObject({ term: 1, holder: { nodeId: "a" } });
  }),
);

test(
  "a confirmation whose caller has disconnected takes nothing back, because the lease was there before",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    const held = new Held();
    store.next("r/", held.fate);
    const controller = new AbortController();
    const failure = failureOf(elector.campaign(A, { signal: controller.signal }));
    await held.arrived;
    controller.abort(new Error("gone"));
    held.release();
    await failure;
    await w.clock.advance(100);
    expect(await elector.renew({ ...claimOf(A, 1), ttlMs: 1000 })).toMatchObject({ kind: "renewed" });
  }),
);

test(
  "a campaign aborted before its write is sent writes nothing",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    const held = new Held();
    store.next("r/", held.fate);
    const first = elector.campaign(A);
    await held.arrived;
    const controller = new AbortController();
    const failure = failureOf(elector.campaign(B, { signal: controller.signal }));
    controller.abort(new Error("gone"));
    held.release();
    await failure;
    expect(wonBy(await first)).toBe("a");
    await w.clock.advance(2000);
    expect(store.sent.filter(({ value }) => value.includes('"b1"'))).toEqual([]);
  }),
);

test(
  "a take-back that the store refuses delays the group by one lease at most",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    const held = new Held();
    store.next("r/", held.fate);
    store.next("r/", refused);
    const controller = new AbortController();
    const failure = failureOf(elector.campaign(A, { signal: controller.signal }));
    await held.arrived;
    controller.abort(new Error("gone"));
    held.release();
    await failure;
    const { value, tookMs } = await w.until(elector.campaign({ ...B, waitMs: 60_000 }));
    expect(wonBy(value)).toBe("b");
    expect(tookMs).toBeLessThanOrEqual(1010);
  }),
);
