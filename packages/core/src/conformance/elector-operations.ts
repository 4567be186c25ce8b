/** Laws of operator actions on a leadership: step-down, pause, takeover delay, priorities. */
import assert from "node:assert/strict";
import { ConflictError, InvalidRequestError, UnauthorizedError } from "../errors.js";
import { systemClock } from "../system-clock.js";
import {
  type AdminBench,
  arrived,
  candidate,
  claimOf,
  elected,
  type ElectorLaw,
  isLeader,
  LONG_MS,
  lost,
  LEASE_MS,
  SHORT_MS,
  SOON_MS,
  WatchProbe,
  successorAsked,
  win,
} from "./elector-support.js";

const BY = "operator";

export function stepDownLaws(law: ElectorLaw<AdminBench>): void {
  law("a leader that was stepped down can neither renew nor be confirmed, and may resign", async (bench) => {
    const { elector, groupId } = bench;
    const other = await bench.other();
    const leader = candidate(groupId, "a");
    await win(elector, leader);
    await other.stepDown({ groupId, by: BY });
    assert.equal((await elector.renew({ ...claimOf(leader, 1), ttlMs: LONG_MS })).kind, "not-leader");
    const again = lost(await elector.campaign(leader));
    assert.deepEqual([again.leader, again.heldBack], [null, "deposed"]);
    const next = lost(await other.campaign(candidate(groupId, "b")));
    assert.deepEqual([next.leader, next.heldBack], [null, "deposed"]);
    const isLeft = (forMs: number | undefined) => forMs !== undefined && forMs > 0 && forMs <= 1.02 * LONG_MS;
    assert(isLeft(next.heldBackForMs), JSON.stringify(next));
    const read = await other.leader(groupId);
    assert.deepEqual([read.leader, read.term, read.heldBack], [null, 1, "deposed"]);
    assert(isLeft(read.heldBackForMs), JSON.stringify(read));
    const held = (await other.group(groupId)).heldBack;
    assert(held?.by === "deposed" && isLeft(held.forMs), JSON.stringify(held));
    assert.deepEqual(await elector.resign(claimOf(leader, 1)), { kind: "resigned" });
    assert.deepEqual(await other.resign(claimOf(leader, 1)), { kind: "resigned" });
    assert.equal((await other.group(groupId)).heldBack, null);
    isLeader(elected(await other.campaign(candidate(groupId, "b"))).leader, "b", 2);
    const event = (await elector.history(groupId)).events.find(({ type }) => type === "LEADER_LOST");
    assert.deepEqual([event?.reason, event?.by], ["deposed", BY]);
  });

  law(
    "a leader that was stepped down keeps the group until the end of its lease, and no longer",
    async (bench) => {
      const { elector, groupId } = bench;
      const sentAtMs = systemClock.monotonicMs();
      await win(elector, candidate(groupId, "a", { ttlMs: LEASE_MS }));
      await elector.stepDown({ groupId, by: BY });
      const waiting = (await bench.other()).campaign(candidate(groupId, "b", { waitMs: LONG_MS }));
      isLeader(elected(await waiting).leader, "b", 2);
      const tookMs = systemClock.monotonicMs() - sentAtMs;
      assert(tookMs >= LEASE_MS, `the lease of ${LEASE_MS} ms was over after ${tookMs} ms`);
      assert(tookMs < LEASE_MS + SOON_MS, `it took ${tookMs} ms`);
      const [, loss] = (await elector.history(groupId)).events;
      assert.equal(loss?.reason, "deposed");
    },
  );

  law("a step-down by force frees the group at once, and a waiting campaign wins it", async (bench) => {
    const { elector, groupId } = bench;
    const leader = candidate(groupId, "a");
    await win(elector, leader);
    const waiting = elector.campaign(candidate(groupId, "b", { waitMs: LONG_MS }));
    await arrived(elector, groupId);
    await elector.stepDown({ groupId, by: BY, force: true });
    isLeader(elected(await waiting).leader, "b", 2);
    const renewal = await elector.renew({ ...claimOf(leader, 1), ttlMs: LONG_MS });
    assert.deepEqual(renewal, { kind: "not-leader", currentLeader: { nodeId: "b", term: 2 } });
    assert.deepEqual(await elector.resign(claimOf(leader, 1)), { kind: "resigned" });
  });

  law("a banned node cannot win until its ban ends, and other nodes can", async (bench) => {
    const { elector, groupId } = bench;
    const other = await bench.other();
    await win(elector, candidate(groupId, "a"));
    await elector.stepDown({ groupId, by: BY, force: true, banMs: 400 });
    const bannedAtMs = systemClock.monotonicMs();
    const refused = lost(await other.campaign(candidate(groupId, "a")));
    assert.deepEqual([refused.leader, refused.heldBack], [null, "banned"]);
    const successor = candidate(groupId, "b");
    isLeader(elected(await other.campaign(successor)).leader, "b", 2);
    const waiting = other.campaign(candidate(groupId, "a", { waitMs: LONG_MS }));
    await arrived(other, groupId);
    await elector.resign(claimOf(successor, 2));
    isLeader(elected(await waiting).leader, "a", 3);
    // The ban began before the answer came, so the time measured from the answer may be slightly shorter.
    const tookMs = systemClock.monotonicMs() - bannedAtMs;
    assert(tookMs < 400 + SOON_MS, `a ban of 400 ms took ${tookMs} ms`);
  });

  law(
    "pause, resume and step-down accept a reason of 1 to 500 characters and refuse any other",
    async ({ elector, groupId }) => {
      await win(elector, candidate(groupId, "a"));
      await elector.pause({ groupId, reason: "drill" });
      await elector.resume({ groupId, reason: "drill" });
      await elector.stepDown({ groupId, by: BY, force: true, reason: "drill" });
      for (const reason of ["", "x".repeat(501)]) {
        const isRefused = (error: unknown) =>
          error instanceof InvalidRequestError && error.field === "reason";
        await assert.rejects(elector.pause({ groupId, reason }), isRefused);
        await assert.rejects(elector.resume({ groupId, reason }), isRefused);
        await assert.rejects(elector.stepDown({ groupId, by: BY, reason }), isRefused);
        await assert.rejects(elector.transfer({ groupId, toNodeId: "b", by: BY, reason }), isRefused);
      }
    },
  );

  law("a group without a leader cannot be stepped down", async ({ elector, groupId }) => {
    await elector.createGroup({ groupId });
    await assert.rejects(elector.stepDown({ groupId, by: BY }), (error) => error instanceof ConflictError);
  });
}

export function pauseLaws(law: ElectorLaw<AdminBench>): void {
  law(
    "in a paused group the leader keeps renewing and no candidate wins until the group is resumed",
    async (bench) => {
      const { elector, groupId } = bench;
      const other = await bench.other();
      const leader = candidate(groupId, "a");
      await win(elector, leader);
      await other.pause({ groupId });
      assert.equal((await elector.group(groupId)).pausedForMs, "until-resumed");
      assert.equal((await elector.renew({ ...claimOf(leader, 1), ttlMs: LONG_MS + 1 })).kind, "renewed");
      assert.equal((await other.group(groupId)).leaseTtlMs, LONG_MS + 1);
      assert.equal(elected(await elector.campaign(leader)).confirmed, true);
      const waiting = elector.campaign(candidate(groupId, "b", { waitMs: LONG_MS }));
      await arrived(elector, groupId);
      assert.deepEqual(await elector.resign(claimOf(leader, 1)), { kind: "resigned" });
      const refused = lost(await other.campaign(candidate(groupId, "c")));
      assert.deepEqual([refused.leader, refused.heldBack], [null, "paused"]);
      await other.resume({ groupId });
      isLeader(elected(await waiting).leader, "b", 2);
      assert.equal((await elector.group(groupId)).pausedForMs, null);
      await elector.resume({ groupId });
    },
  );

  law("the lease of a paused group still expires", async (bench) => {
    const { elector, groupId } = bench;
    const probe = new WatchProbe(await bench.other(), groupId);
    await probe.next();
    await win(elector, candidate(groupId, "a", { ttlMs: SHORT_MS }));
    await elector.pause({ groupId });
    assert.equal((await probe.until("LEADER_LOST", 1)).reason, "expired");
    await probe.stop();
    assert.equal(lost(await elector.campaign(candidate(groupId, "b"))).heldBack, "paused");
  });

  law("a pause with a duration ends by itself", async (bench) => {
    const { elector, groupId } = bench;
    const sentAtMs = systemClock.monotonicMs();
    await elector.pause({ groupId, forMs: 300, create: true });
    const { pausedForMs } = await elector.group(groupId);
    // On a busy machine the pause may be over before the group is read.
    const isOver = pausedForMs === null && systemClock.monotonicMs() - sentAtMs >= 300;
    const isShown = typeof pausedForMs === "number" && pausedForMs > 0 && pausedForMs <= 300;
    assert(isOver || isShown, `${pausedForMs}`);
    elected(await (await bench.other()).campaign(candidate(groupId, "a", { waitMs: LONG_MS })));
    const tookMs = systemClock.monotonicMs() - sentAtMs;
    assert(tookMs >= 300 && tookMs < 300 + SOON_MS, `a pause of 300 ms took ${tookMs} ms`);
  });
}

export function policyLaws(law: ElectorLaw<AdminBench>): void {
  law("after an expiry a campaign is held back by the takeover delay", async ({ elector, groupId }) => {
    await elector.createGroup({ groupId, policy: { takeoverDelayMs: 60_000 } });
    await win(elector, candidate(groupId, "a", { ttlMs: SHORT_MS }));
    const probe = new WatchProbe(elector, groupId, { cursor: 1 });
    await probe.until("LEADER_LOST", 1);
    await probe.stop();
    const early = lost(await elector.campaign(candidate(groupId, "b")));
    assert.deepEqual([early.leader, early.heldBack], [null, "takeover_delay"]);
  });

  law(
    "after an expiry a waiting campaign wins when the takeover delay is over, and not earlier",
    async (bench) => {
      const { elector, groupId } = bench;
      await elector.createGroup({ groupId, policy: { takeoverDelayMs: 400 } });
      const sentAtMs = systemClock.monotonicMs();
      await win(elector, candidate(groupId, "a", { ttlMs: SHORT_MS }));
      const waiting = (await bench.other()).campaign(candidate(groupId, "b", { waitMs: LONG_MS }));
      isLeader(elected(await waiting).leader, "b", 2);
      const tookMs = systemClock.monotonicMs() - sentAtMs;
      assert(
        tookMs >= SHORT_MS + 400,
        `lease and delay of ${SHORT_MS + 400} ms were over after ${tookMs} ms`,
      );
      assert(tookMs < SHORT_MS + 400 + SOON_MS, `it took ${tookMs} ms`);
    },
  );

  law(
    "a term that ends in any other way than by expiry has no takeover delay",
    async ({ elector, groupId }) => {
      await elector.createGroup({ groupId, policy: { takeoverDelayMs: 60_000 } });
      const first = candidate(groupId, "a");
      await win(elector, first);
      await elector.resign(claimOf(first, 1));
      isLeader(await win(elector, candidate(groupId, "b")), "b", 2);
      await elector.stepDown({ groupId, by: BY, force: true });
      isLeader(await win(elector, candidate(groupId, "c")), "c", 3);
    },
  );

  law(
    'with strategy "priority" the waiting campaign of the highest priority wins, the first among equals',
    async (bench) => {
      const { elector, groupId } = bench;
      await elector.createGroup({ groupId, policy: { strategy: "priority" } });
      const leader = candidate(groupId, "leader");
      await win(elector, leader);
      const requests = [
        candidate(groupId, "low", { waitMs: LONG_MS, priority: -5 }),
        candidate(groupId, "high-first", { waitMs: LONG_MS, priority: 7 }),
        candidate(groupId, "high-second", { waitMs: LONG_MS, priority: 7 }),
        candidate(groupId, "none", { waitMs: LONG_MS }),
      ];
      const waiting = [];
      for (const request of requests) {
        waiting.push(elector.campaign(request));
        await arrived(elector, groupId);
      }
      let last = leader;
      let term = 1;
      for (const index of [1, 2, 3, 0]) {
        await elector.resign(claimOf(last, term++));
        const request = requests[index];
        const result = await waiting[index];
        assert(request !== undefined && result !== undefined);
        isLeader(elected(result).leader, request.nodeId, term);
        last = request;
      }
    },
  );

  law(
    "with preemption on, a leader is asked to yield to a waiting campaign of higher priority",
    async (bench) => {
      const { elector, groupId } = bench;
      await elector.createGroup({ groupId, policy: { strategy: "priority", preempt: true } });
      const leader = candidate(groupId, "a", { priority: 1 });
      await win(elector, leader);
      const equal = elector.campaign(candidate(groupId, "equal", { priority: 1, waitMs: LONG_MS }));
      await arrived(elector, groupId);
      const quiet = await elector.renew({ ...claimOf(leader, 1), ttlMs: LONG_MS });
      assert(quiet.kind === "renewed" && quiet.transferTo === undefined);
      const higher = (await bench.other()).campaign(
        candidate(groupId, "higher", { priority: 2, waitMs: LONG_MS }),
      );
      assert.equal(await successorAsked(elector, leader, 1), "higher");
      await elector.resign(claimOf(leader, 1));
      isLeader(elected(await higher).leader, "higher", 2);
      await elector.stepDown({ groupId, by: BY, force: true });
      isLeader(elected(await equal).leader, "equal", 3);
    },
  );

  law("only allowed nodes can campaign, and a leader that is no longer allowed is deposed", async (bench) => {
    const { elector, groupId } = bench;
    const other = await bench.other();
    await elector.createGroup({ groupId, allowedNodes: ["a", "b"] });
    const unauthorized = (error: unknown) => error instanceof UnauthorizedError;
    await assert.rejects(other.campaign(candidate(groupId, "c")), unauthorized);
    await assert.rejects(other.campaign(candidate(groupId, "c", { waitMs: 1000 })), unauthorized);
    const leader = candidate(groupId, "a");
    await win(other, leader);
    await elector.updateGroup({ groupId, allowedNodes: ["b"] });
    await assert.rejects(other.campaign(leader), unauthorized);
    const renewal = await other.renew({ ...claimOf(leader, 1), ttlMs: LONG_MS });
    assert.deepEqual(renewal, { kind: "not-leader", currentLeader: null });
    const successor = other.campaign(candidate(groupId, "b", { waitMs: LONG_MS }));
    await arrived(other, groupId);
    assert.deepEqual(await elector.resign(claimOf(leader, 1)), { kind: "resigned" });
    isLeader(elected(await successor).leader, "b", 2);
    const loss = (await elector.history(groupId)).events.find(({ type }) => type === "LEADER_LOST");
    assert.equal(loss?.reason, "deposed");
  });
}
