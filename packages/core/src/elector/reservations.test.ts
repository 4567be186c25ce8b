/** A group is reserved for a successor only while that successor may still come. */
import { expect, test } from "vitest";
import { sleep } from "../clock.js";
import { A, B, C, claimOf, failureOf, Held, inWorld, stateOf, wonBy } from "./world.test-kit.js";

const PREEMPT = { groupId: "g", policy: { strategy: "priority", preempt: true } } as const;

test(
  "a leader is not asked to yield to a challenger that has disconnected",
  inWorld(async (w) => {
    const { elector } = w.server();
    await elector.createGroup(PREEMPT);
    await elector.campaign({ ...A, ttlMs: 2000 });
    const hangUp = new AbortController();
    const challenge = elector.campaign({ ...B, priority: 9, waitMs: 60_000 }, { signal: hangUp.signal });
    const failure = failureOf(challenge);
    await w.clock.advance(50);
    expect((await w.record()).transfer).toMatchObject({ toNodeId: "b", ready: true });
    hangUp.abort(new Error("crashed"));
    await failure;
    await w.clock.advance(600);
    const renewed = await elector.renew({ ...claimOf(A, 1), ttlMs: 2000 });
    expect(renewed).not.toHaveProperty("transferTo");
    expect((await w.record()).transfer).toBeNull();
  }),
);

test(
  "a reserved vacancy goes to a waiting candidate as soon as its challenger has disconnected",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    await one.elector.createGroup(PREEMPT);
    await one.elector.campaign({ ...A, ttlMs: 2000 });
    const hangUp = new AbortController();
    const challenge = one.elector.campaign({ ...B, priority: 9, waitMs: 60_000 }, { signal: hangUp.signal });
    const failure = failureOf(challenge);
    const other = two.elector.campaign({ ...C, waitMs: 60_000 });
    await w.clock.advance(50);
    // The server where the challenger waits does not learn of the vacancy before the challenger has disconnected.
    hangUp.abort(new Error("crashed"));
    const resigned = two.elector.resign(claimOf(A, 1));
    const { tookMs } = await w.until(other);
    await Promise.all([failure, resigned]);
    expect(wonBy(await other)).toBe("c");
    expect(tookMs).toBeLessThan(100);
  }),
);

test(
  "a vacancy goes to another candidate at once if the successor disconnects before its wait is answered",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    await one.elector.createGroup(PREEMPT);
    await one.elector.campaign({ ...A, ttlMs: 2000 });
    const hangUp = new AbortController();
    const challenge = one.elector.campaign({ ...B, priority: 9, waitMs: 100 }, { signal: hangUp.signal });
    const failure = failureOf(challenge);
    const other = two.elector.campaign({ ...C, waitMs: 60_000 });
    await w.clock.advance(99);
    expect((await w.record()).transfer).toMatchObject({ toNodeId: "b", ready: true });
    // The wait ends, and the campaign's last attempt needs a fresh record.
    one.store.onSync = (apply) => sleep(w.clock, 20).then(apply);
    await w.clock.advance(1);
    expect(await stateOf(challenge)).toBe("pending");
    hangUp.abort(new Error("crashed"));
    const resigned = two.elector.resign(claimOf(A, 1));
    const { tookMs } = await w.until(other);
    await Promise.all([failure, resigned]);
    expect(wonBy(await other)).toBe("c");
    expect(tookMs).toBeLessThan(100);
  }),
);

test(
  "a leader is not asked to yield to a challenger that disconnected while that request was written",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.createGroup(PREEMPT);
    await elector.campaign({ ...A, ttlMs: 2000 });
    const hangUp = new AbortController();
    const held = new Held();
    store.next("r/", held.fate);
    const challenge = elector.campaign({ ...B, priority: 9, waitMs: 60_000 }, { signal: hangUp.signal });
    const failure = failureOf(challenge);
    await held.arrived;
    hangUp.abort(new Error("crashed"));
    await failure;
    held.release();
    await w.clock.advance(50);
    expect((await w.record()).transfer).toBeNull();
    expect(await elector.renew({ ...claimOf(A, 1), ttlMs: 2000 })).not.toHaveProperty("transferTo");
  }),
);

test(
  "a challenger whose wait ended while the request to yield was written is expected back for a second",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.createGroup(PREEMPT);
    await elector.campaign({ ...A, ttlMs: 10_000 });
    const held = new Held();
    store.next("r/", held.fate);
    const challenge = elector.campaign({ ...B, priority: 9, waitMs: 100 });
    await held.arrived;
    await w.clock.advance(100);
    held.release();
    expect(await challenge).toMatchObject({ kind: "lost" });
    await w.clock.advance(900);
    expect((await w.record()).transfer).toMatchObject({ toNodeId: "b", ready: true });
    await w.clock.advance(200);
    expect((await w.record()).transfer).toBeNull();
  }),
);

test(
  "a vacancy is reserved for two seconds at most when the server of the successor has died",
  inWorld(async (w) => {
    const one = w.server();
    const dying = w.farServer();
    await one.elector.createGroup(PREEMPT);
    await one.elector.campaign({ ...A, ttlMs: 2000 });
    const challenge = dying.elector.campaign({ ...B, priority: 9, waitMs: 60_000 });
    const other = one.elector.campaign({ ...C, waitMs: 60_000 });
    await w.clock.advance(50);
    dying.store.fallSilent();
    dying.plan.feedStalledUntilMs = 1e9;
    await one.elector.resign(claimOf(A, 1));
    const { value, tookMs } = await w.until(other);
    expect(wonBy(value)).toBe("c");
    expect(tookMs).toBeGreaterThan(1900);
    expect(tookMs).toBeLessThanOrEqual(2100);
    expect(await stateOf(challenge)).toBe("pending");
    dying.plan.feedStalledUntilMs = 0;
  }),
);

test(
  "a leader still yields to a challenger that also waits at another server",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    await one.elector.createGroup(PREEMPT);
    await one.elector.campaign({ ...A, ttlMs: 2000 });
    const hangUp = new AbortController();
    const first = one.elector.campaign({ ...B, priority: 9, waitMs: 60_000 }, { signal: hangUp.signal });
    const failure = failureOf(first);
    await w.clock.advance(20);
    const second = two.elector.campaign({ ...B, priority: 9, waitMs: 60_000 });
    await w.clock.advance(20);
    hangUp.abort(new Error("moved"));
    await failure;
    await w.clock.advance(50);
    const renewed = await one.elector.renew({ ...claimOf(A, 1), ttlMs: 2000 });
    expect(renewed).toMatchObject({ transferTo: "b" });
    await one.elector.resign(claimOf(A, 1));
    expect(wonBy((await w.until(second)).value)).toBe("b");
  }),
);

test(
  "a transfer goes on while the record names it, even if its time limit has passed on the server that received the request",
  inWorld(async (w) => {
    const waitsHere = w.server();
    const renewsHere = w.farServer();
    const askedHere = w.farServer();
    await waitsHere.elector.campaign({ ...A, ttlMs: 30_000 });
    const waiting = waitsHere.elector.campaign({ ...B, waitMs: 60_000 });
    await w.clock.advance(10);
    const startMs = w.clock.monotonicMs();
    renewsHere.plan.feedStalledUntilMs = startMs + 600;
    const transfer = askedHere.elector.transfer({ groupId: "g", by: "ops", toNodeId: "b", timeoutMs: 1000 });
    await w.clock.advance(5);
    askedHere.plan.feedStalledUntilMs = startMs + 1002;
    await w.clock.advance(500);
    // This server sees the transfer only now, so it carries over more of its time.
    await w.until(renewsHere.elector.renew({ ...claimOf(A, 1), ttlMs: 30_000 }));
    await w.clock.advance(600);
    await waitsHere.elector.resign(claimOf(A, 1));
    expect(wonBy((await w.until(waiting)).value)).toBe("b");
    expect((await w.until(transfer)).value).toMatchObject({ nodeId: "b", term: 2 });
  }),
);

test(
  "a transfer is done even if only the history still shows that its successor led",
  inWorld(async (w) => {
    const here = w.server();
    const askedHere = w.farServer();
    await here.elector.campaign({ ...A, ttlMs: 30_000 });
    const waiting = here.elector.campaign({ ...B, ttlMs: 30_000, waitMs: 60_000 });
    await w.clock.advance(10);
    const transfer = askedHere.elector.transfer({ groupId: "g", by: "ops", toNodeId: "b", timeoutMs: 5000 });
    await w.clock.advance(5);
    askedHere.plan.feedStalledUntilMs = w.clock.monotonicMs() + 1000;
    await here.elector.resign(claimOf(A, 1));
    expect(wonBy((await w.until(waiting)).value)).toBe("b");
    await here.elector.resign(claimOf(B, 2));
    for (const term of [3, 4, 5]) {
      await here.elector.campaign(C);
      await here.elector.resign(claimOf(C, term));
    }
    expect((await w.until(transfer)).value).toMatchObject({ nodeId: "b", term: 2 });
  }),
);

test(
  "a failed transfer is withdrawn: a server that saw it late no longer asks the leader to yield",
  inWorld(async (w) => {
    const here = w.server();
    const late = w.farServer();
    await here.elector.campaign({ ...A, ttlMs: 30_000 });
    const waiting = failureOf(late.elector.campaign({ ...B, ttlMs: 30_000, waitMs: 60_000 }));
    await w.clock.advance(100);
    const startMs = w.clock.monotonicMs();
    late.plan.feedStalledUntilMs = startMs + 1500;
    const transfer = failureOf(
      here.elector.transfer({ groupId: "g", by: "ops", toNodeId: "b", timeoutMs: 1000 }),
    );
    await w.clock.advance(2000);
    expect((await w.until(transfer)).value).toMatchObject({ code: "CONFLICT" });
    const renewed = await here.elector.renew({ ...claimOf(A, 1), ttlMs: 30_000 });
    expect(renewed).not.toHaveProperty("transferTo");
    expect((await w.record()).transfer).toBeNull();
    void waiting;
  }),
);
