/** Operator actions whose answer was lost: an action is answered as done only if the record proves that very action. */
import { expect, test } from "vitest";
import { A, B, C, claimOf, failureOf, inWorld, lostAnswer, lostRequest, wonBy } from "./world.test-kit.js";

const OPS = { groupId: "g", by: "ops" };

test(
  "a forced step-down whose answer was lost does not depose the successor",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    const waiting = elector.campaign({ ...B, waitMs: 60_000 });
    await w.clock.advance(0);
    store.next("r/", lostAnswer);
    await w.until(elector.stepDown({ ...OPS, force: true }));
    expect(wonBy((await w.until(waiting)).value)).toBe("b");
    expect((await elector.leader("g")).leader).toMatchObject({ nodeId: "b", term: 2 });
    expect(await elector.renew({ ...claimOf(B, 2), ttlMs: 1000 })).toMatchObject({ kind: "renewed" });
  }),
);

test(
  "a step-down whose write was lost is not answered as done while the leader of a later term leads",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.farServer();
    await one.elector.campaign(A);
    await w.clock.advance(10);
    two.plan.feedStalledUntilMs = w.clock.monotonicMs() + 100;
    await one.elector.resign(claimOf(A, 1));
    await one.elector.campaign(B);
    two.store.next("r/", lostRequest);
    const { value } = await w.until(failureOf(two.elector.stepDown(OPS)));
    expect(value).toMatchObject({ code: "BACKEND_UNAVAILABLE" });
    expect(await w.record()).toMatchObject({ term: 2, holder: { nodeId: "b" }, deposed: null });
  }),
);

test(
  "a forced step-down whose write was lost frees a group whose leader was stepped down without force meanwhile",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    await one.elector.campaign(A);
    one.store.next("r/", lostRequest);
    const letSyncs = one.store.holdSyncs();
    const forced = one.elector.stepDown({ ...OPS, force: true });
    await w.clock.advance(0);
    await two.elector.stepDown(OPS);
    letSyncs();
    await w.until(forced);
    expect(await w.record()).toMatchObject({ term: 1, holder: null });
  }),
);

test(
  "a step-down with a ban whose write was lost is not answered as done because of an older ban of the same node",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    await one.elector.campaign(A);
    await one.elector.stepDown({ ...OPS, banMs: 3000 });
    await w.clock.advance(10);
    one.store.next("r/", lostRequest);
    const letSyncs = one.store.holdSyncs();
    const second = failureOf(one.elector.stepDown({ ...OPS, banMs: 60_000 }));
    await w.clock.advance(0);
    await two.elector.resign(claimOf(A, 1));
    letSyncs();
    expect((await w.until(second)).value).toMatchObject({ code: "BACKEND_UNAVAILABLE" });
    expect((await w.record()).bans[0]?.leftMs).toBeLessThanOrEqual(3000);
  }),
);

test(
  "a step-down whose write was lost is not answered as done because another operator stepped down the same term",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    await one.elector.campaign(A);
    await one.elector.stepDown(OPS);
    await w.clock.advance(10);
    one.store.next("r/", lostRequest);
    const letSyncs = one.store.holdSyncs();
    const second = failureOf(one.elector.stepDown({ ...OPS, by: "another-operator", force: true }));
    await w.clock.advance(0);
    await two.elector.resign(claimOf(A, 1));
    await two.elector.campaign(B);
    letSyncs();
    expect((await w.until(second)).value).toMatchObject({ code: "BACKEND_UNAVAILABLE" });
    expect((await w.record()).holder?.nodeId).toBe("b");
  }),
);

test(
  "a deletion whose answer was lost does not delete a group that was created again since",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    await one.elector.createGroup({ groupId: "g" });
    one.store.next("r/", lostAnswer);
    const letSyncs = one.store.holdSyncs();
    const deletion = failureOf(one.elector.deleteGroup(OPS));
    await w.clock.advance(0);
    await two.elector.campaign(B);
    letSyncs();
    expect((await w.until(deletion)).value).toMatchObject({ code: "BACKEND_UNAVAILABLE" });
    expect(await two.elector.renew({ ...claimOf(B, 1), ttlMs: 1000 })).toMatchObject({ kind: "renewed" });
  }),
);

test(
  "a transfer whose answer was lost is answered as done if the successor led and left meanwhile",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    await one.elector.campaign(A);
    const successor = two.elector.campaign({ ...B, waitMs: 60_000 });
    await w.clock.advance(0);
    one.store.next("r/", lostAnswer);
    const letSyncs = one.store.holdSyncs();
    const transfer = one.elector.transfer({ ...OPS, toNodeId: "b" });
    await w.clock.advance(10);
    await two.elector.resign(claimOf(A, 1));
    expect(wonBy(await successor)).toBe("b");
    await two.elector.resign(claimOf(B, 2));
    await two.elector.campaign(C);
    letSyncs();
    expect((await w.until(transfer)).value).toMatchObject({ nodeId: "b", term: 2 });
    expect(await w.record()).toMatchObject({ term: 3, holder: { nodeId: "c" }, transfer: null });
  }),
);

test(
  "a transfer whose write was lost does not ask the next leader to yield",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    await one.elector.campaign(A);
    one.store.next("r/", lostRequest);
    const letSyncs = one.store.holdSyncs();
    const transfer = failureOf(one.elector.transfer({ ...OPS, toNodeId: "b" }));
    await w.clock.advance(10);
    await two.elector.resign(claimOf(A, 1));
    await two.elector.campaign(C);
    letSyncs();
    expect((await w.until(transfer)).value).toMatchObject({ code: "BACKEND_UNAVAILABLE" });
    expect(await w.record()).toMatchObject({ term: 2, holder: { nodeId: "c" }, transfer: null });
  }),
);

test(
  "a transfer whose write was lost is not answered as done because the successor led before the request",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.farServer();
    await one.elector.campaign(A);
    await w.clock.advance(10);
    two.plan.feedStalledUntilMs = w.clock.monotonicMs() + 100;
    await one.elector.resign(claimOf(A, 1));
    await one.elector.campaign(B);
    await one.elector.resign(claimOf(B, 2));
    await one.elector.campaign(C);
    two.store.next("r/", lostRequest);
    const { value } = await w.until(failureOf(two.elector.transfer({ ...OPS, toNodeId: "b" })));
    expect(value).toMatchObject({ code: "BACKEND_UNAVAILABLE" });
    expect(await w.record()).toMatchObject({ term: 3, holder: { nodeId: "c" }, transfer: null });
  }),
);

test(
  "a transfer whose answer was lost is answered as done if the leader yielded and the successor returns later",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    await one.elector.campaign(A);
    const wait = two.elector.campaign({ ...B, waitMs: 100 });
    await w.clock.advance(0);
    one.store.next("r/", lostAnswer);
    const letSyncs = one.store.holdSyncs();
    const transfer = one.elector.transfer({ ...OPS, toNodeId: "b" });
    await w.clock.advance(150);
    expect(await wait).toMatchObject({ kind: "lost" });
    await two.elector.resign(claimOf(A, 1));
    expect(await w.record()).toMatchObject({ term: 1, holder: null, transfer: { toNodeId: "b" } });
    letSyncs();
    await w.clock.advance(10);
    expect(wonBy(await two.elector.campaign(B))).toBe("b");
    expect((await w.until(transfer)).value).toMatchObject({ nodeId: "b", term: 2 });
  }),
);
