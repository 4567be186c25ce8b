/** Laws of waiting campaigns and of leases that run out. */
import assert from "node:assert/strict";
import { systemClock } from "../system-clock.js";
import {
  arrived,
  candidate,
  claimOf,
  elected,
  type ElectorLaw,
  isLeader,
  LONG_MS,
  lost,
  mark,
  LEASE_MS,
  SHORT_MS,
  SOON_MS,
  turn,
  WatchProbe,
  win,
} from "./elector-support.js";

export function waitingLaws(law: ElectorLaw): void {
  law("a leader that stops renewing is replaced soon after its ttl, and never before", async (bench) => {
    const { elector, groupId } = bench;
    const leader = candidate(groupId, "a", { ttlMs: LEASE_MS });
    await win(elector, leader);
    const waiting = (await bench.other()).campaign(candidate(groupId, "b", { waitMs: LONG_MS }));
    let sentAtMs = 0;
    for (let i = 0; i < 3; i++) {
      sentAtMs = systemClock.monotonicMs();
      assert.equal((await elector.renew({ ...claimOf(leader, 1), ttlMs: LEASE_MS })).kind, "renewed");
    }
    const result = elected(await waiting);
    const tookMs = systemClock.monotonicMs() - sentAtMs;
    isLeader(result.leader, "b", 2);
    assert(tookMs >= LEASE_MS, `the lease of ${LEASE_MS} ms was over after ${tookMs} ms`);
    assert(tookMs < LEASE_MS + SOON_MS, `it took ${tookMs} ms`);
    const late = await elector.renew({ ...claimOf(leader, 1), ttlMs: LEASE_MS });
    assert.deepEqual(late, { kind: "not-leader", currentLeader: { nodeId: "b", term: 2 } });
  });

  law("renewals keep a waiting campaign from winning for longer than any one lease", async (bench) => {
    const { elector, groupId } = bench;
    const leader = candidate(groupId, "a", { ttlMs: LEASE_MS });
    await win(elector, leader);
    const other = await bench.other();
    // Each wait of another node lasts for less than a lease, and is followed by a renewal.
    for (let i = 0; i < 3; i++) {
      const result = await other.campaign(candidate(groupId, "b", { waitMs: 700 }));
      isLeader(lost(result).leader, "a", 1);
      assert.equal((await elector.renew({ ...claimOf(leader, 1), ttlMs: LEASE_MS })).kind, "renewed");
    }
  });

  law("neither a renewal nor a confirmation shortens a lease", async ({ elector, groupId }) => {
    const leader = candidate(groupId, "a", { ttlMs: LEASE_MS });
    const sentAtMs = systemClock.monotonicMs();
    await win(elector, leader);
    assert.equal((await elector.renew({ ...claimOf(leader, 1), ttlMs: SHORT_MS })).kind, "renewed");
    elected(await elector.campaign({ ...leader, ttlMs: SHORT_MS }));
    elected(await elector.campaign(candidate(groupId, "b", { waitMs: LONG_MS })));
    const tookMs = systemClock.monotonicMs() - sentAtMs;
    assert(tookMs >= LEASE_MS, `the lease of ${LEASE_MS} ms was over after ${tookMs} ms`);
  });

  law("an expired lease ends its term as expired and can no longer be resigned", async (bench) => {
    const { elector, groupId } = bench;
    const leader = candidate(groupId, "a", { ttlMs: SHORT_MS });
    const probe = new WatchProbe(await bench.other(), groupId);
    await probe.next();
    await win(elector, leader);
    const lostEvent = await probe.until("LEADER_LOST", 1);
    assert.deepEqual(
      [lostEvent.reason, lostEvent.previousLeaderNodeId, lostEvent.leaderNodeId],
      ["expired", "a", null],
    );
    await probe.stop();
    const nobody = { kind: "not-leader", currentLeader: null };
    assert.deepEqual(await elector.resign(claimOf(leader, 1)), nobody);
    assert.deepEqual(await elector.renew({ ...claimOf(leader, 1), ttlMs: SHORT_MS }), nobody);
  });

  law(
    "a waiting campaign wins when the leader resigns, and its answer says how long it waited",
    async (bench) => {
      const { elector, groupId } = bench;
      let leader = candidate(groupId, "first");
      await win(elector, leader);
      let term = 1;
      for (const server of [elector, await bench.other()]) {
        const request = candidate(groupId, `successor-${term}`, { waitMs: LONG_MS });
        const sentAtMs = systemClock.monotonicMs();
        const waiting = server.campaign(request);
        await arrived(server, groupId);
        await elector.resign(claimOf(leader, term++));
        const { confirmed, waitedMs, leader: won } = elected(await waiting);
        const tookMs = systemClock.monotonicMs() - sentAtMs;
        isLeader(won, request.nodeId, term);
        assert.equal(confirmed, false);
        assert(waitedMs !== undefined && waitedMs >= 0 && waitedMs <= tookMs, `${waitedMs} of ${tookMs} ms`);
        leader = request;
      }
    },
  );

  law(
    "the end of a lease and the next leader come from one write, so no reader sees a vacancy",
    async (bench) => {
      const { elector, groupId } = bench;
      const leader = candidate(groupId, "a");
      await win(elector, leader);
      const waiting = elector.campaign(candidate(groupId, "b", { waitMs: LONG_MS }));
      await arrived(elector, groupId);
      const other = await bench.other();
      const resigned = new AbortController();
      const resign = elector.resign(claimOf(leader, 1)).finally(() => resigned.abort());
      while (!resigned.signal.aborted) {
        assert.notEqual((await other.leader(groupId)).leader, null, "a read has seen a vacancy");
        await turn();
      }
      await resign;
      isLeader(elected(await waiting).leader, "b", 2);
    },
  );

  law("waiting campaigns at one server win in the order of their arrival", async (bench) => {
    const { elector, groupId } = bench;
    let leader = candidate(groupId, "first", { waitMs: LONG_MS });
    await win(elector, leader);
    const requests = ["a", "b", "c", "d"].map((nodeId) =>
      // Without strategy "priority" the priority has no effect.
      candidate(groupId, nodeId, { waitMs: LONG_MS, priority: nodeId.charCodeAt(0) }),
    );
    const waiting = [];
    for (const request of requests) {
      waiting.push(elector.campaign(request));
      await arrived(elector, groupId);
    }
    for (const [index, request] of requests.entries()) {
      await elector.resign(claimOf(leader, index + 1));
      const result = await waiting[index];
      assert(result !== undefined);
      isLeader(elected(result).leader, request.nodeId, index + 2);
      leader = request;
    }
  });

  law("at the end of its wait a campaign gets the same answer as other lost campaigns", async (bench) => {
    const { elector, groupId } = bench;
    await win(elector, candidate(groupId, "a"));
    const sentAtMs = systemClock.monotonicMs();
    const result = lost(await (await bench.other()).campaign(candidate(groupId, "b", { waitMs: 150 })));
    const tookMs = systemClock.monotonicMs() - sentAtMs;
    isLeader(result.leader, "a", 1);
    assert(result.retryAfterMs > 0);
    assert(tookMs >= 150 && tookMs < 150 + SOON_MS, `a wait of 150 ms took ${tookMs} ms`);
    // The candidate is not elected afterwards either.
    await elector.resign({ groupId, nodeId: "a", term: 1 });
    assert.deepEqual(await elector.leader(groupId), { leader: null, term: 1, ageMs: 0 });
  });

  law("a campaign that can win at once does not wait", async ({ elector, groupId }) => {
    const request = candidate(groupId, "a", { waitMs: 60_000 });
    const first = elected(await elector.campaign(request));
    assert(first.waitedMs !== undefined && first.waitedMs < SOON_MS);
    assert.equal(elected(await elector.campaign(request)).confirmed, true);
  });

  law("an aborted wait ends at once, and its candidate is never elected", async (bench) => {
    const { elector, groupId } = bench;
    const leader = candidate(groupId, "a");
    await win(elector, leader);
    const controller = new AbortController();
    const reason = new Error("gone");
    const request = candidate(groupId, "b", { waitMs: 60_000 });
    const waiting = elector.campaign(request, { signal: controller.signal });
    const next = elector.campaign(candidate(groupId, "c", { waitMs: LONG_MS }));
    await arrived(elector, groupId);
    controller.abort(reason);
    await assert.rejects(waiting, (error) => error === reason);
    await arrived(elector, groupId);
    const before = await mark(elector, groupId);
    assert.equal(before, "a leads term 1 after 1 events");
    await elector.resign(claimOf(leader, 1));
    isLeader(elected(await next).leader, "c", 2);
  });

  law("a campaign won by a caller that has disconnected is taken back", async (bench) => {
    const { elector, groupId } = bench;
    const controller = new AbortController();
    const reason = new Error("gone");
    const campaign = elector.campaign(candidate(groupId, "a", { ttlMs: 60_000 }), {
      signal: controller.signal,
    });
    controller.abort(reason);
    await assert.rejects(campaign, (error) => error === reason);
    const other = await bench.other();
    const result = elected(await other.campaign(candidate(groupId, "b", { waitMs: LONG_MS })));
    assert.equal(result.leader.nodeId, "b");
  });
}
