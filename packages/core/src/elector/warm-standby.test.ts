/**
 * Warm standby: which ready or cold candidate is next, and how readiness is shown. `rules/upkeep.ts` has the
 * invariants.
 */
import { describe, expect, test } from "vitest";
import { A, B, C, claimOf, failureOf, inWorld, stateOf, wonBy } from "./world.test-kit.js";

const MEMBERS = { keepMembers: true };
const WAIT_MS = 60_000;
const LED = { ...A, ttlMs: 30_000 };
const PREEMPT = { groupId: "g", policy: { strategy: "priority", preempt: true } } as const;
const TRANSFER = { groupId: "g", by: "ops" } as const;

describe("a vacancy with ready and cold candidates", () => {
  test(
    "a vacancy goes to a ready candidate before a cold one that came first, and then to the cold one",
    inWorld(async (w) => {
      const { elector } = w.server();
      await elector.campaign(LED);
      const cold = elector.campaign({ ...B, ready: false, waitMs: WAIT_MS });
      await w.clock.advance(10);
      const ready = elector.campaign({ ...C, waitMs: WAIT_MS });
      await w.clock.advance(10);
      await elector.resign(claimOf(LED, 1));
      expect(wonBy((await w.until(ready)).value)).toBe("c");
      expect(await stateOf(cold)).toBe("pending");
      await elector.resign(claimOf(C, 2));
      expect(wonBy((await w.until(cold)).value)).toBe("b");
    }),
  );

  test(
    "a vacancy goes to the waiting ready candidate at the end of a pause",
    inWorld(async (w) => {
      const { elector } = w.server();
      await elector.createGroup({ groupId: "g" });
      await elector.pause({ groupId: "g" });
      const ready = elector.campaign({ ...B, waitMs: WAIT_MS });
      await w.clock.advance(10);
      const cold = elector.campaign({ ...C, ready: false, waitMs: WAIT_MS });
      await w.clock.advance(10);
      await elector.resume({ groupId: "g" });
      expect(wonBy((await w.until(ready)).value)).toBe("b");
      expect(await stateOf(cold)).toBe("pending");
    }),
  );

  test(
    "a vacancy goes to a cold candidate if no ready one waits",
    inWorld(async (w) => {
      const { elector } = w.server();
      expect(wonBy(await elector.campaign({ ...B, ready: false }))).toBe("b");
    }),
  );
});

describe("preemption by ready and cold challengers", () => {
  test(
    "preemption starts once a challenger is ready, and not while it is cold",
    inWorld(async (w) => {
      const { elector } = w.server();
      await elector.createGroup(PREEMPT);
      await elector.campaign(LED);
      const challenger = { ...B, priority: 9, waitMs: WAIT_MS };
      const hangUp = new AbortController();
      const cold = failureOf(elector.campaign({ ...challenger, ready: false }, { signal: hangUp.signal }));
      await w.clock.advance(500);
      expect((await w.record()).transfer).toBeNull();
      hangUp.abort(new Error("ready now"));
      await cold;
      const ready = elector.campaign(challenger);
      await w.clock.advance(50);
      expect((await w.record()).transfer).toMatchObject({ toNodeId: "b", ready: true });
      await elector.resign(claimOf(LED, 1));
      expect(wonBy((await w.until(ready)).value)).toBe("b");
    }),
  );

  test(
    "preemption is withdrawn when the challenger's ready campaign leaves, even if its cold one stays",
    inWorld(async (w) => {
      const { elector } = w.server();
      await elector.createGroup(PREEMPT);
      await elector.campaign(LED);
      const challenger = { ...B, priority: 9, waitMs: WAIT_MS };
      const hangUp = new AbortController();
      const ready = failureOf(elector.campaign(challenger, { signal: hangUp.signal }));
      const cold = elector.campaign({ ...challenger, instanceId: "b2", ready: false });
      await w.clock.advance(50);
      expect((await w.record()).transfer).toMatchObject({ toNodeId: "b" });
      hangUp.abort(new Error("gone"));
      await ready;
      await w.clock.advance(50);
      expect((await w.record()).transfer).toBeNull();
      expect(await stateOf(cold)).toBe("pending");
    }),
  );
});

describe("a transfer to ready and cold nodes", () => {
  test(
    "a transfer to a cold node is refused with advice, and is carried out with allowCold",
    inWorld(async (w) => {
      const { elector } = w.server(MEMBERS);
      await elector.campaign(LED);
      const cold = elector.campaign({ ...B, ready: false, waitMs: WAIT_MS });
      await w.clock.advance(10);
      const refused = await w.until(failureOf(elector.transfer({ ...TRANSFER, toNodeId: "b" })));
      expect(refused.tookMs).toBeLessThan(100);
      expect(refused.value).toMatchObject({
        code: "CONFLICT",
        message:
          "g: b is still preparing; transfer again when it is ready, or set allow_cold to hand over before",
      });
      const transfer = elector.transfer({ ...TRANSFER, toNodeId: "b", allowCold: true });
      await w.clock.advance(50);
      expect(await elector.renew({ ...claimOf(LED, 1), ttlMs: 30_000 })).toMatchObject({ transferTo: "b" });
      await elector.resign(claimOf(LED, 1));
      expect((await w.until(transfer)).value).toMatchObject({ nodeId: "b", term: 2 });
      expect(wonBy(await cold)).toBe("b");
    }),
  );

  test(
    "a transfer to a node that is cold at another server is refused at once",
    inWorld(async (w) => {
      const [here, there] = [w.server(MEMBERS), w.server(MEMBERS)];
      await here.elector.campaign(LED);
      void there.elector.campaign({ ...B, ready: false, waitMs: WAIT_MS });
      await w.clock.advance(2000);
      const refused = await w.until(failureOf(here.elector.transfer({ ...TRANSFER, toNodeId: "b" })));
      expect(refused.value).toMatchObject({ code: "CONFLICT" });
      expect(String(refused.value)).toContain("b is still preparing");
    }),
  );

  test(
    "a transfer without a target goes to the ready candidate that would win a vacancy",
    inWorld(async (w) => {
      const { elector } = w.server(MEMBERS);
      await elector.campaign(LED);
      void elector.campaign({ ...B, ready: false, waitMs: WAIT_MS });
      const chosen = elector.campaign({ ...C, waitMs: WAIT_MS });
      await w.clock.advance(10);
      const transfer = elector.transfer(TRANSFER);
      await w.clock.advance(50);
      await elector.resign(claimOf(LED, 1));
      expect((await w.until(transfer)).value).toMatchObject({ nodeId: "c", term: 2 });
      expect(wonBy(await chosen)).toBe("c");
    }),
  );

  test(
    "a transfer without a target goes to a ready candidate at another server if only cold ones wait here",
    inWorld(async (w) => {
      const [here, there] = [w.server(MEMBERS), w.server(MEMBERS)];
      await here.elector.campaign(LED);
      void here.elector.campaign({ ...B, ready: false, waitMs: WAIT_MS });
      const chosen = there.elector.campaign({ ...C, waitMs: WAIT_MS });
      await w.clock.advance(2000);
      const transfer = here.elector.transfer(TRANSFER);
      await w.clock.advance(50);
      await here.elector.resign(claimOf(LED, 1));
      expect((await w.until(transfer)).value).toMatchObject({ nodeId: "c", term: 2 });
      expect(wonBy(await chosen)).toBe("c");
    }),
  );

  test(
    "a transfer without a target skips known candidates that wait nowhere, and is refused if there is no other",
    inWorld(async (w) => {
      const [here, there] = [w.server(MEMBERS), w.server(MEMBERS)];
      await here.elector.campaign(LED);
      const chosen = there.elector.campaign({ ...C, waitMs: WAIT_MS });
      await w.clock.advance(2000);
      // Seen last, and no longer waiting.
      await here.elector.campaign(B);
      const transfer = here.elector.transfer(TRANSFER);
      await w.clock.advance(1100);
      expect((await w.record()).transfer).toMatchObject({ toNodeId: "c", ready: true });
      await here.elector.resign(claimOf(LED, 1));
      expect((await w.until(transfer)).value).toMatchObject({ nodeId: "c", term: 2 });
      expect(wonBy(await chosen)).toBe("c");
      await there.elector.renew({ ...claimOf(C, 2), ttlMs: 30_000 });
      const nobody = await w.until(failureOf(here.elector.transfer(TRANSFER)));
      expect(String(nobody.value)).toContain("no candidate is waiting for this group");
      expect(nobody.tookMs).toBeLessThanOrEqual(2100);
      expect((await w.record()).transfer).toBeNull();
    }),
  );

  test(
    "a transfer without a target is refused with that reason if no ready candidate waits",
    inWorld(async (w) => {
      const { elector } = w.server(MEMBERS);
      await elector.campaign(LED);
      const nobody = await w.until(failureOf(elector.transfer(TRANSFER)));
      expect(String(nobody.value)).toContain("no candidate is waiting for this group");
      void elector.campaign({ ...B, ready: false, waitMs: WAIT_MS });
      await w.clock.advance(10);
      const onlyCold = await w.until(failureOf(elector.transfer(TRANSFER)));
      expect(String(onlyCold.value)).toContain(
        "every candidate that waits for this group is still preparing",
      );
      expect((await w.record()).transfer).toBeNull();
    }),
  );
});

describe("readiness in the list of members", () => {
  test(
    "readiness is shown at every server within two seconds of its change, and stays if a renewal does not state it",
    inWorld(async (w) => {
      const [here, there] = [w.server(MEMBERS), w.server(MEMBERS)];
      const shown = async () =>
        (await there.elector.members("g")).map(({ nodeId, ready }) => [nodeId, ready]);
      await here.elector.campaign({ ...LED, ready: false });
      await w.clock.advance(2000);
      expect(await shown()).toEqual([["a", false]]);
      await here.elector.renew({ ...claimOf(LED, 1), ttlMs: 30_000 });
      await w.clock.advance(12_000);
      expect(await shown()).toEqual([["a", false]]);
      await here.elector.heartbeat({ groupId: "g", nodeId: "a", ready: true });
      await w.clock.advance(2000);
      expect(await shown()).toEqual([["a", true]]);
    }),
  );

  test(
    "readiness is shown while a cold campaign waits, and an observer that does not state it counts as ready",
    inWorld(async (w) => {
      const { elector } = w.server(MEMBERS);
      await elector.campaign(LED);
      void elector.campaign({ ...B, ready: false, waitMs: WAIT_MS });
      await elector.heartbeat({ groupId: "g", nodeId: "o" });
      await w.clock.advance(15_000);
      expect(await elector.members("g")).toMatchObject([
        { nodeId: "a", ready: true },
        { nodeId: "b", ready: false },
        { nodeId: "o", role: "observer", ready: true },
      ]);
    }),
  );
});
