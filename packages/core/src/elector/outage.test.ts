/** A store that is out: everybody hears so soon, nobody hears anything else, and all is well when it is back. */
import { describe, expect, test } from "vitest";
import { BackendUnavailableError } from "../errors.js";
import type { StoreElector } from "./store-elector.js";
import { A, B, C, claimOf, failureOf, inWorld, refused, stateOf, wonBy } from "./world.test-kit.js";

const OPS = { groupId: "g", by: "ops" };

const VERBS: readonly { readonly name: string; readonly call: (e: StoreElector) => Promise<unknown> }[] = [
  { name: "campaign", call: (e) => e.campaign(B) },
  { name: "confirmation", call: (e) => e.campaign(A) },
  { name: "renew", call: (e) => e.renew({ ...claimOf(A, 1), ttlMs: 60_000 }) },
  { name: "a stranger's renew", call: (e) => e.renew({ ...claimOf(B, 1), ttlMs: 60_000 }) },
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
    "$name hears BackendUnavailableError within five seconds, then it works again",
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
        // The lease is as it was: an outage decides nothing.
        expect(await w.record()).toMatchObject({ term: 1, eventNumber: 1, holder: { nodeId: "a" } });
        store.mend();
        const renewed = await w.until(elector.renew({ ...claimOf(A, 1), ttlMs: 60_000 }));
        expect(renewed.value).toMatchObject({ kind: "renewed" });
        expect(renewed.tookMs).toBeLessThanOrEqual(1000);
      })(),
  );

  test(
    "each renewal of a list fails on its own, and soon",
    inWorld(async (w) => {
      const { elector, store } = w.server();
      for (const groupId of ["x", "y"]) await elector.campaign({ ...A, groupId });
      await w.clock.advance(10);
      if (manner === "silent") store.fallSilent();
      else store.goOut();
      const list = ["x", "y"].map((groupId) => ({ ...claimOf({ ...A, groupId }, 1), ttlMs: 1000 }));
      const { value, tookMs } = await w.until(elector.renewMany(list));
      expect(value.map((each) => each.kind)).toEqual(["failed", "failed"]);
      // Well before the lease of a second is over.
      expect(tookMs).toBeLessThanOrEqual(600);
    }),
  );
});

test(
  "everyone hears of a silent store within five seconds, however many ask for one group",
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
  "quorum lost means no election: a lease that runs out in an outage is ended when the store is back",
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
  "an outage is not met with a storm: retries of what is done unasked are spread out",
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
  "a leader whose renewals failed in an outage renews when the store is back, if nobody has ended its lease",
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
  "an elector opened in an outage answers once the store is there",
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
  "a slow group holds nobody else back",
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
