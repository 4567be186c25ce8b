/** A store outage: every caller gets an error soon, no caller gets a wrong answer, and calls work again afterwards. */
import { describe, expect, test } from "vitest";
import { BackendUnavailableError } from "../errors.js";
import type { StoreElector } from "./store-elector.js";
import { A, B, C, claimOf, failureOf, inWorld, refused, stateOf, wonBy } from "./world.test-kit.js";

const OPS = { groupId: "g", by: "ops" };

const VERBS: readonly { readonly name: string; readonly call: (e: StoreElector) => Promise<unknown> }[] = [
  { name: "campaign", call: (e) => e.campaign(B) },
  { name: "confirmation", call: (e) => e.campaign(A) },
  { name: "renew", call: (e) => e.renew({ ...claimOf(A, 1), ttlMs: 60_000 }) },
  { name: "the renew of another node", call: (e) => e.renew({ ...claimOf(B, 1), ttlMs: 60_000 }) },
  { name: "resign", call: (e) => e.resign(claimOf(A, 1)) },
  { name: "leader", call: (e) => e.leader("g") },
  { name: "group", call: (e) => e.group("g") },
  { name: "groups", call: (e) => e.groups() },
  { name: "history", call: (e) => e.history("g") },
  { name: "createGroup", call: (e) => e.createGroup({ groupId: "g" }) },
  { name: "updateGroup", call: (e) => e.updateGroup({ groupId: "g" }) },
  { name: "deleteGroup", call: (e) => e.deleteGroup({ ...OPS, force: true }) },
  { name: "stepDown", call: (e) => e.stepDown(OPS) },
  { name: "transfer", call: (e) => e.transfer({ ...OPS, toNodeId: "b" }) },
  { name: "pause", call: (e) => e.pause({ groupId: "g" }) },
  { name: "resume", call: (e) => e.resume({ groupId: "g" }) },
  { name: "the end of a wait", call: (e) => e.campaign({ ...B, waitMs: 1 }) },
];

describe.each(["silent", "refusing"] as const)("a %s store", (manner) => {
  test.each(VERBS)(
    "$name fails with BackendUnavailableError within five seconds and works again after the outage",
    ({ call }) =>
      inWorld(async (w) => {
        const { elector, store } = w.server();
        await elector.campaign({ ...A, ttlMs: 60_000 });
        await w.clock.advance(10);
        if (manner === "silent") store.fallSilent();
        else store.goOut();
        const { value, tookMs } = await w.until(failureOf(call(elector)));
        expect(value).toBeInstanceOf(BackendUnavailableError);
        expect(tookMs).toBeLessThanOrEqual(5000);
        // The lease is unchanged: an outage decides nothing.
        expect(await w.record()).toMatchObject({ term: 1, eventNumber: 1, holder: { nodeId: "a" } });
        store.mend();
        const renewed = await w.until(elector.renew({ ...claimOf(A, 1), ttlMs: 60_000 }));
        expect(renewed.value).toMatchObject({ kind: "renewed" });
        expect(renewed.tookMs).toBeLessThanOrEqual(1000);
      })(),
  );

  test(
    "each renewal in a list fails on its own, within its time limit",
    inWorld(async (w) => {
      const { elector, store } = w.server();
      for (const groupId of ["x", "y"]) await elector.campaign({ ...A, groupId });
      await w.clock.advance(10);
      if (manner === "silent") store.fallSilent();
      else store.goOut();
      const list = ["x", "y"].map((groupId) => ({ ...claimOf({ ...A, groupId }, 1), ttlMs: 1000 }));
      const { value, tookMs } = await w.until(elector.renewMany(list));
      expect(value.map((each) => each.kind)).toEqual(["failed", "failed"]);
      // Well before the lease of one second is over.
      expect(tookMs).toBeLessThanOrEqual(600);
    }),
  );
});

test(
  "all callers of one group get the error of a silent store within five seconds, however many there are",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await w.clock.advance(0);
    store.fallSilent();
    const tookMs = Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        const startMs = w.clock.monotonicMs();
        const failure = await failureOf(elector.campaign({ groupId: "g", nodeId: `n${i}`, ttlMs: 1000 }));
        expect(failure).toBeInstanceOf(BackendUnavailableError);
        return w.clock.monotonicMs() - startMs;
      }),
    );
    expect(Math.max(...(await w.until(tookMs)).value)).toBeLessThanOrEqual(5000);
  }),
);

test(
  "a lease that expires during an outage is ended when the store is back, and not before",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    const waiting = elector.campaign({ ...B, waitMs: 60_000 });
    await w.clock.advance(0);
    store.goOut();
    await w.clock.advance(20_000);
    expect(await stateOf(waiting)).toBe("pending");
    expect(await w.record()).toMatchObject({ term: 1, holder: { nodeId: "a" } });
    store.mend();
    const { value, tookMs } = await w.until(waiting);
    expect(wonBy(value)).toBe("b");
    expect(tookMs).toBeLessThanOrEqual(1000);
  }),
);

test(
  "background retries during an outage are spread out",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    await w.clock.advance(10);
    store.goOut();
    const before = store.sent.length;
    await w.clock.advance(11_000);
    expect(store.sent.length - before).toBeLessThanOrEqual(50);
    expect(store.sent.length - before).toBeGreaterThan(5);
  }),
);

test(
  "a leader whose renewals failed in an outage renews when the store is back, if its lease was not ended",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    await w.clock.advance(500);
    store.always("r/", refused);
    const failure = failureOf(elector.renew({ ...claimOf(A, 1), ttlMs: 1000 }));
    expect((await w.until(failure)).value).toBeInstanceOf(BackendUnavailableError);
    store.mend();
    expect((await w.until(elector.renew({ ...claimOf(A, 1), ttlMs: 1000 }))).value.kind).toBe("renewed");
  }),
);

test(
  "an elector opened during an outage answers once the store is back",
  inWorld(async (w) => {
    const other = w.farServer();
    other.plan.outageUntilMs = 3000;
    other.store.goOut();
    expect((await w.until(failureOf(other.elector.leader("g")))).value).toBeInstanceOf(
      BackendUnavailableError,
    );
    await w.clock.run({ untilMs: 5000 });
    other.store.mend();
    expect(wonBy((await w.until(other.elector.campaign(C))).value)).toBe("c");
    expect((await w.until(other.elector.leader("g"))).value.leader).toMatchObject({ nodeId: "c" });
  }),
);

test(
  "a group with a slow store key does not delay other groups",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    for (const groupId of ["slow", "quick"]) await elector.campaign({ ...A, groupId });
    await w.clock.advance(10);
    store.always("r/slow", () => new Promise(() => {}));
    const slow = failureOf(elector.renew({ ...claimOf({ ...A, groupId: "slow" }, 1), ttlMs: 1000 }));
    await w.clock.advance(1);
    const quick = await w.until(elector.renew({ ...claimOf({ ...A, groupId: "quick" }, 1), ttlMs: 1000 }));
    expect(quick.value.kind).toBe("renewed");
    expect(quick.tookMs).toBe(0);
    expect((await w.until(slow)).value).toBeInstanceOf(BackendUnavailableError);
  }),
);
