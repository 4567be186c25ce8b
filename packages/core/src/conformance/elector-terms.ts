/** Laws of a single leadership: campaign, renew, resign, leader. */
import assert from "node:assert/strict";
import { InvalidTtlError, TenureError } from "../errors.js";
import {
  arrived,
  candidate,
  claimOf,
  elected,
  type ElectorLaw,
  isLeader,
  LONG_MS,
  lost,
  newGroupId,
  win,
} from "./elector-support.js";

export function termLaws(law: ElectorLaw): void {
  law("a campaign wins a vacancy with term 1, and every later one a higher term", async (bench) => {
    const { elector, groupId } = bench;
    const other = await bench.other();
    for (let term = 1; term <= 4; term++) {
      const server = term % 2 === 0 ? other : elector;
      const request = candidate(groupId, `node-${term}`);
      const result = elected(await server.campaign(request));
      isLeader(result.leader, request.nodeId, term);
      assert.equal(result.confirmed, false);
      assert.deepEqual(await server.resign(claimOf(request, term)), { kind: "resigned" });
    }
  });

  law("of many nodes that campaign at once, one wins", async (bench) => {
    const { elector, groupId } = bench;
    const servers = [elector, await bench.other()];
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        (servers[i % 2] ?? elector).campaign(candidate(groupId, `node-${i}`)),
      ),
    );
    const winners = results.filter((result) => result.kind === "elected");
    assert.equal(winners.length, 1);
    const leader = winners[0]?.leader;
    assert.equal(leader?.term, 1);
    for (const result of results) if (result.kind === "lost") isLeader(result.leader, leader.nodeId, 1);
  });

  law("the same instance that asks again keeps its term, at any server", async (bench) => {
    const { elector, groupId } = bench;
    const request = candidate(groupId, "a", { metadata: { url: "http://a" } });
    await win(elector, request);
    const again = elected(
      await (await bench.other()).campaign({ ...request, metadata: { url: "http://b" } }),
    );
    isLeader(again.leader, "a", 1);
    assert.equal(again.confirmed, true);
    assert.deepEqual((await elector.leader(groupId)).leader?.metadata, { url: "http://b" });
  });

  law("another instance of the same node is not confirmed", async ({ elector, groupId }) => {
    await win(elector, candidate(groupId, "a", { instanceId: "first" }));
    isLeader(lost(await elector.campaign(candidate(groupId, "a", { instanceId: "second" }))).leader, "a", 1);
    lost(await elector.campaign({ groupId, nodeId: "a", ttlMs: LONG_MS }));
  });

  law("a missing instance equals a missing one, and never a given one", async ({ elector, groupId }) => {
    const request = { groupId, nodeId: "a", ttlMs: LONG_MS };
    await win(elector, request);
    assert.equal(elected(await elector.campaign(request)).confirmed, true);
    lost(await elector.campaign({ ...request, instanceId: "given" }));
  });

  law("a lost campaign is answered with the leader and when to try again", async (bench) => {
    const { elector, groupId } = bench;
    await win(elector, candidate(groupId, "a", { metadata: { zone: "z1" } }));
    const result = lost(await (await bench.other()).campaign(candidate(groupId, "b")));
    isLeader(result.leader, "a", 1);
    assert.deepEqual(result.leader?.metadata, { zone: "z1" });
    assert.equal(result.heldBack, undefined);
    assert(Number.isSafeInteger(result.retryAfterMs) && result.retryAfterMs > 0);
  });

  law("a renewal keeps the term, and with it the leadership", async (bench) => {
    const { elector, groupId } = bench;
    const request = candidate(groupId, "a", { metadata: { zone: "z1" } });
    await win(elector, request);
    for (const server of [elector, await bench.other(), elector]) {
      const result = await server.renew({ ...claimOf(request, 1), ttlMs: LONG_MS });
      assert(result.kind === "renewed", JSON.stringify(result));
      isLeader(result.leader, "a", 1);
      assert.deepEqual(result.leader.metadata, { zone: "z1" });
      assert.equal(result.transferTo, undefined);
    }
    assert.equal((await elector.renew({ groupId, nodeId: "a", term: 1, ttlMs: LONG_MS })).kind, "renewed");
  });

  law(
    "a node that does not lead this term can neither renew nor resign it, and is shown the leader",
    async (bench) => {
      const { elector, groupId } = bench;
      const request = candidate(groupId, "a");
      await win(elector, request);
      const claim = claimOf(request, 1);
      const other = await bench.other();
      for (const wrong of [
        { ...claim, nodeId: "b" },
        { ...claim, term: 2 },
        { ...claim, instanceId: "another" },
      ]) {
        const expected = { kind: "not-leader", currentLeader: { nodeId: "a", term: 1 } };
        assert.deepEqual(await elector.renew({ ...wrong, ttlMs: LONG_MS }), expected);
        assert.deepEqual(await other.resign(wrong), expected);
      }
      isLeader((await elector.leader(groupId)).leader, "a", 1);
    },
  );

  law("an unknown group has no leader", async (bench) => {
    const { elector, groupId } = bench;
    const nobody = { kind: "not-leader", currentLeader: null };
    assert.deepEqual(await elector.leader(groupId), { leader: null, term: 0, ageMs: 0 });
    assert.deepEqual(await elector.renew({ groupId, nodeId: "a", term: 1, ttlMs: LONG_MS }), nobody);
    assert.deepEqual(await elector.resign({ groupId, nodeId: "a", term: 1 }), nobody);
    assert.deepEqual(await (await bench.other()).leader(groupId), { leader: null, term: 0, ageMs: 0 });
  });

  law("a resign frees the group, and asked again it says so again", async (bench) => {
    const { elector, groupId } = bench;
    const other = await bench.other();
    const request = candidate(groupId, "a");
    await win(elector, request);
    for (const server of [other, elector, other]) {
      assert.deepEqual(await server.resign(claimOf(request, 1)), { kind: "resigned" });
    }
    assert.deepEqual(await elector.leader(groupId), { leader: null, term: 1, ageMs: 0 });
    const renewal = await elector.renew({ ...claimOf(request, 1), ttlMs: LONG_MS });
    assert.deepEqual(renewal, { kind: "not-leader", currentLeader: null });
    await win(other, candidate(groupId, "b"));
    assert.deepEqual(await elector.resign(claimOf(request, 1)), { kind: "resigned" });
    isLeader((await elector.leader(groupId)).leader, "b", 2);
  });

  law("renewals of several groups are answered in their place, each on its own", async (bench) => {
    const { elector } = bench;
    const led = Array.from({ length: 5 }, (_, i) => candidate(newGroupId(), `node-${i}`));
    for (const request of led) await win(elector, request);
    const requests = led.map((request) => ({ ...claimOf(request, 1), ttlMs: LONG_MS }));
    const stranger = { ...requests[1], nodeId: "stranger" };
    const tooLong = { ...requests[3], ttlMs: 86_400_000 };
    const unknown = { groupId: newGroupId(), nodeId: "a", term: 1, ttlMs: LONG_MS };
    const results = await (
      await bench.other()
    ).renewMany([
      requests[0] as (typeof requests)[0],
      stranger as (typeof requests)[0],
      requests[2] as (typeof requests)[0],
      tooLong as (typeof requests)[0],
      unknown,
      requests[4] as (typeof requests)[0],
    ]);
    assert.deepEqual(
      results.map((result) => result.kind),
      ["renewed", "not-leader", "renewed", "failed", "not-leader", "renewed"],
    );
    const [first, , , failed, , last] = results;
    assert(first?.kind === "renewed" && last?.kind === "renewed");
    isLeader(first.leader, "node-0", 1);
    isLeader(last.leader, "node-4", 1);
    assert(failed?.kind === "failed" && failed.error instanceof TenureError);
    assert(failed.error instanceof InvalidTtlError, String(failed.error));
    assert.deepEqual(await elector.renewMany([]), []);
  });

  law("a read is as new as every change acknowledged before it, at any server", async (bench) => {
    const { elector, groupId } = bench;
    const other = await bench.other();
    const request = candidate(groupId, "a", { metadata: { n: 1 } });
    for (let term = 1; term <= 10; term++) {
      await win(elector, request);
      const led = await other.leader(groupId);
      isLeader(led.leader, "a", term);
      assert.deepEqual([led.leader?.metadata, led.term, led.ageMs], [{ n: 1 }, term, 0]);
      await other.resign(claimOf(request, term));
      assert.deepEqual(await elector.leader(groupId), { leader: null, term, ageMs: 0 });
    }
  });

  law("a local read shows how old it may be", async ({ elector, groupId }) => {
    await win(elector, candidate(groupId, "a"));
    await arrived(elector, groupId);
    const local = await elector.leader(groupId, { consistency: "local" });
    isLeader(local.leader, "a", 1);
    assert(Number.isFinite(local.ageMs) && local.ageMs >= 0, `ageMs is ${local.ageMs}`);
    const unknown = await elector.leader(newGroupId(), { consistency: "local" });
    assert.deepEqual([unknown.leader, unknown.term], [null, 0]);
  });

  law("the answer shows the end of a lease on the wall clock, for people", async ({ elector, groupId }) => {
    const request = candidate(groupId, "a");
    const { expiresAtMs } = await win(elector, request);
    const renewed = await elector.renew({ ...claimOf(request, 1), ttlMs: 2 * LONG_MS });
    assert(renewed.kind === "renewed" && renewed.leader.expiresAtMs > expiresAtMs);
  });
}
