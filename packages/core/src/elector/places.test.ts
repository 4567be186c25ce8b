/** A candidate that waits by successive campaigns keeps its place in the queue of a server. */
import { expect, test } from "vitest";
import { A, B, C, claimOf, failureOf, inWorld, stateOf, wonBy } from "./world.test-kit.js";

const LED = { ...A, ttlMs: 30_000 };
const LONG_MS = 60_000;

test(
  "a candidate that campaigns again after its wait is served before one that came later",
  inWorld(async (w) => {
    const { elector } = w.server();
    await elector.campaign(LED);
    const slice = elector.campaign({ ...B, waitMs: 500 });
    await w.clock.advance(100);
    const later = elector.campaign({ ...C, waitMs: LONG_MS });
    expect(wonBy((await w.until(slice)).value)).toBeNull();
    await w.clock.advance(50);
    const next = elector.campaign({ ...B, waitMs: LONG_MS });
    await w.clock.advance(10);
    await elector.resign(claimOf(LED, 1));
    expect(wonBy((await w.until(next)).value)).toBe("b");
    expect(await stateOf(later)).toBe("pending");
  }),
);

test(
  "candidates whose waits end together keep their order, even if they return in another order",
  inWorld(async (w) => {
    const { elector } = w.server();
    await elector.campaign(LED);
    const slices = [B, C].map((each) => elector.campaign({ ...each, waitMs: 500 }));
    await w.until(Promise.all(slices));
    const second = elector.campaign({ ...C, waitMs: LONG_MS });
    await w.clock.advance(20);
    const first = elector.campaign({ ...B, waitMs: LONG_MS });
    await w.clock.advance(10);
    await elector.resign(claimOf(LED, 1));
    expect(wonBy((await w.until(first)).value)).toBe("b");
    expect(await stateOf(second)).toBe("pending");
  }),
);

test(
  "a cold candidate that campaigns again because it became ready keeps its place",
  inWorld(async (w) => {
    const { elector } = w.server();
    await elector.campaign(LED);
    const hangUp = new AbortController();
    const cold = failureOf(
      elector.campaign({ ...B, ready: false, waitMs: LONG_MS }, { signal: hangUp.signal }),
    );
    await w.clock.advance(100);
    const other = elector.campaign({ ...C, waitMs: LONG_MS });
    await w.clock.advance(100);
    hangUp.abort(new Error("ready now"));
    await cold;
    const ready = elector.campaign({ ...B, waitMs: LONG_MS });
    await w.clock.advance(10);
    await elector.resign(claimOf(LED, 1));
    expect(wonBy((await w.until(ready)).value)).toBe("b");
    expect(await stateOf(other)).toBe("pending");
  }),
);

test(
  "a candidate that stays away for a second or longer goes to the end of the queue",
  inWorld(async (w) => {
    const { elector } = w.server();
    await elector.campaign(LED);
    const slice = elector.campaign({ ...B, waitMs: 500 });
    await w.clock.advance(100);
    const other = elector.campaign({ ...C, waitMs: LONG_MS });
    await w.until(slice);
    await w.clock.advance(1000);
    const late = elector.campaign({ ...B, waitMs: LONG_MS });
    await w.clock.advance(10);
    await elector.resign(claimOf(LED, 1));
    expect(wonBy((await w.until(other)).value)).toBe("c");
    expect(await stateOf(late)).toBe("pending");
  }),
);

test(
  "a vacancy stays reserved for a successor between two of its campaigns",
  inWorld(async (w) => {
    const { elector } = w.server({ keepMembers: true });
    await elector.campaign(LED);
    const slice = elector.campaign({ ...B, waitMs: 500 });
    const other = elector.campaign({ ...C, waitMs: LONG_MS });
    await w.clock.advance(10);
    const transfer = elector.transfer({ groupId: "g", by: "ops", toNodeId: "b" });
    await w.until(slice);
    await w.clock.advance(20);
    expect((await w.record()).transfer).toMatchObject({ toNodeId: "b", ready: true });
    await elector.resign(claimOf(LED, 1));
    await w.clock.advance(50);
    const next = elector.campaign({ ...B, waitMs: LONG_MS });
    expect(wonBy((await w.until(next)).value)).toBe("b");
    expect(await transfer).toMatchObject({ nodeId: "b", term: 2 });
    expect(await stateOf(other)).toBe("pending");
  }),
);

test(
  "a successor that does not return after its wait delays the others for a second at most",
  inWorld(async (w) => {
    const { elector } = w.server({ keepMembers: true });
    await elector.campaign(LED);
    const slice = elector.campaign({ ...B, waitMs: 500 });
    const other = elector.campaign({ ...C, waitMs: LONG_MS });
    await w.clock.advance(10);
    const transfer = failureOf(elector.transfer({ groupId: "g", by: "ops", toNodeId: "b" }));
    await w.until(slice);
    await elector.resign(claimOf(LED, 1));
    const { value, tookMs } = await w.until(other);
    expect(wonBy(value)).toBe("c");
    expect(tookMs).toBeLessThanOrEqual(1010);
    expect(await transfer).toMatchObject({ code: "CONFLICT" });
  }),
);
