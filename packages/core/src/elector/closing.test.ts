import { expect, test } from "vitest";
import { ClosedError } from "../errors.js";
import {
  A,
  B,
  claimOf,
  failureOf,
  Held,
  inWorld,
  lostAnswer,
  lostRequest,
  stateOf,
  wonBy,
} from "./world.test-kit.js";

test(
  "close answers a waiting campaign whose grant by a resign is uncertain",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    const waiting = elector.campaign({ ...B, waitMs: 60_000 });
    await w.clock.advance(0);
    store.next("r/", lostAnswer);
    const letSyncs = store.holdSyncs();
    const resign = elector.resign(claimOf(A, 1));
    await w.clock.advance(0);
    const closed = elector.close();
    await w.clock.advance(0);
    letSyncs();
    expect((await w.until(resign)).value).toEqual({ kind: "resigned" });
    // The grant had been written, so the candidate leads, and is answered after another write.
    expect(wonBy((await w.until(waiting)).value)).toBe("b");
    await w.until(closed);
    expect((await w.record()).holder).toMatchObject({ nodeId: "b" });
  }),
);

test(
  "close answers a waiting campaign whose grant at expiry is uncertain",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    const waiting = elector.campaign({ ...B, waitMs: 60_000 });
    await w.clock.advance(0);
    store.next("r/", lostRequest);
    const letSyncs = store.holdSyncs();
    await w.clock.advance(1010);
    const closed = elector.close();
    await w.clock.advance(0);
    letSyncs();
    const answer = (await w.until(waiting)).value;
    await w.until(closed);
    // The answer agrees with the record.
    expect((await w.record()).holder?.nodeId === "b").toBe(answer.kind === "elected");
  }),
);

test(
  "a campaign that starts to wait while the elector closes is answered as lost",
  inWorld(async (w) => {
    const { elector } = w.server();
    await elector.campaign(A);
    const waiting = elector.campaign({ ...B, waitMs: 5000 });
    const closed = elector.close();
    await w.until(closed);
    expect(await stateOf(waiting)).toBe("fulfilled");
    expect(await waiting).toMatchObject({ kind: "lost", leader: { nodeId: "a" } });
  }),
);

test(
  "close ends a waiting campaign although the store is silent",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    const failure = failureOf(elector.campaign({ ...B, waitMs: 60_000 }));
    await w.clock.advance(0);
    store.fallSilent();
    const { tookMs } = await w.until(elector.close());
    expect(tookMs).toBeLessThanOrEqual(5000);
    expect(await failure).toBeInstanceOf(ClosedError);
  }),
);

test(
  "close waits for a history write in flight, and nothing is sent after it",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    const held = new Held();
    store.next("h/", held.fate);
    await elector.campaign(A);
    await w.clock.advance(0);
    const closed = elector.close();
    await w.clock.advance(0);
    expect(await stateOf(closed)).toBe("pending");
    held.release();
    await w.until(closed);
    const sent = store.sent.length;
    await w.clock.advance(60_000);
    expect(store.sent.length).toBe(sent);
  }),
);

test(
  "close waits until the win of a disconnected caller is taken back",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    const held = new Held();
    store.next("r/", held.fate);
    const controller = new AbortController();
    const failure = failureOf(elector.campaign(A, { signal: controller.signal }));
    await held.arrived;
    controller.abort(new Error("gone"));
    const closed = elector.close();
    held.release();
    await w.until(closed);
    expect(await failure).toMatchObject({ message: "gone" });
    expect(await w.record()).toMatchObject({ term: 1, holder: null });
  }),
);

test(
  "a read in flight is answered while the elector closes",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.farServer();
    await w.clock.advance(0);
    two.plan.feedMs = [5, 5];
    await one.elector.campaign(A);
    const read = two.elector.leader("g");
    const closed = two.elector.close();
    expect((await w.until(read)).value).toMatchObject({ term: 1 });
    await w.until(closed);
  }),
);

test(
  "a watch opened after close ends with ClosedError at once",
  inWorld(async (w) => {
    const { elector } = w.server();
    await elector.campaign(A);
    await elector.close();
    const failure = failureOf(elector.watch("g")[Symbol.asyncIterator]().next());
    await w.clock.advance(0);
    expect(await stateOf(failure)).toBe("fulfilled");
    expect(await failure).toBeInstanceOf(ClosedError);
  }),
);

test(
  "close ends a transfer in progress with ClosedError",
  inWorld(async (w) => {
    const { elector } = w.server();
    await elector.campaign(A);
    const failure = failureOf(elector.transfer({ groupId: "g", toNodeId: "b", by: "ops" }));
    await w.clock.advance(0);
    const { tookMs } = await w.until(elector.close());
    expect(tookMs).toBe(0);
    expect(await failure).toBeInstanceOf(ClosedError);
  }),
);

test(
  "a closed elector does not end the leases it granted",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    await one.elector.campaign(A);
    await w.until(one.elector.close());
    expect((await w.until(two.elector.leader("g"))).value.leader).toMatchObject({ nodeId: "a", term: 1 });
    await two.elector.renew({ ...claimOf(A, 1), ttlMs: 1000 });
    // After the lease has run out, another elector ends it.
    await w.clock.advance(1011);
    expect(await w.record()).toMatchObject({ holder: null, ended: { reason: "expired" } });
  }),
);
