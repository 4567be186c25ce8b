/** Laws of `watch`. */
import assert from "node:assert/strict";
import type { Elector, WatchEvent } from "../elector.js";
import { InvalidRequestError } from "../errors.js";
import {
  candidate,
  claimOf,
  type ElectorLaw,
  LONG_MS,
  newGroupId,
  watching,
  WatchProbe,
  win,
} from "./elector-support.js";

/** The number of events that an elector keeps. */
const KEPT = 64;

export function watchLaws(law: ElectorLaw): void {
  law("the first item of a watch is the current state", async (bench) => {
    const { elector, groupId } = bench;
    const other = await bench.other();
    assert.deepEqual(await first(elector, groupId), {
      type: "LEADER_LOST",
      cursor: 0,
      term: 0,
      leaderNodeId: null,
      previousLeaderNodeId: null,
      reason: "none",
    });
    await handOver(elector, groupId, 1);
    assert.deepEqual(await first(other, groupId), {
      type: "LEADER_LOST",
      cursor: 2,
      term: 1,
      leaderNodeId: null,
      previousLeaderNodeId: "node-1",
      reason: "resigned",
    });
    await win(other, candidate(groupId, "b"));
    assert.deepEqual(await first(elector, groupId), {
      type: "LEADER_CHANGED",
      cursor: 3,
      term: 2,
      leaderNodeId: "b",
      previousLeaderNodeId: "node-1",
      reason: "resigned",
    });
  });

  law("every server shows the changes one after the other, with consecutive cursors", async (bench) => {
    const { elector, groupId } = bench;
    const other = await bench.other();
    const probes = [new WatchProbe(elector, groupId), new WatchProbe(other, groupId)];
    for (const probe of probes) await probe.next();
    for (let term = 1; term <= 6; term++) await handOver(term % 2 === 0 ? other : elector, groupId, term);
    for (const probe of probes) {
      const events = await probe.take(12);
      assert.deepEqual(
        events.map(({ type, cursor, term, leaderNodeId }) => [type, cursor, term, leaderNodeId]),
        Array.from({ length: 12 }, (_, i) => {
          const term = Math.floor(i / 2) + 1;
          return i % 2 === 0
            ? ["LEADER_CHANGED", i + 1, term, `node-${term}`]
            : ["LEADER_LOST", i + 1, term, null];
        }),
      );
      for (const event of events) {
        assert.equal(event.groupId, groupId);
        assert(Number.isSafeInteger(event.tsMs) && event.tsMs > 1_000_000_000_000, `tsMs is ${event.tsMs}`);
      }
      await probe.stop();
    }
  });

  law("renewals and confirmations are no events", async ({ elector, groupId }) => {
    const request = candidate(groupId, "a");
    const probe = new WatchProbe(elector, groupId);
    await probe.next();
    await win(elector, request);
    await elector.renew({ ...claimOf(request, 1), ttlMs: LONG_MS });
    await elector.campaign(request);
    await elector.resign(claimOf(request, 1));
    const events = await probe.take(2);
    assert.deepEqual(
      events.map((event) => event.cursor),
      [1, 2],
    );
    await probe.stop();
  });

  law("a watch from a cursor misses nothing and repeats nothing, at any server", async (bench) => {
    const { elector, groupId } = bench;
    const other = await bench.other();
    for (let term = 1; term <= 8; term++) await handOver(elector, groupId, term);
    for (const cursor of [0, 1, 7, 12, 15]) {
      const probe = new WatchProbe(cursor % 2 === 0 ? elector : other, groupId, { cursor });
      const cursors = (await probe.take(16 - cursor)).map((event) => event.cursor);
      assert.deepEqual(
        cursors,
        Array.from({ length: 16 - cursor }, (_, i) => cursor + 1 + i),
      );
      await probe.stop();
    }
    // From the last one: nothing until something happens.
    const probe = new WatchProbe(other, groupId, { cursor: 16 });
    const next = probe.next();
    await win(elector, candidate(groupId, "next"));
    const { type, cursor, term } = await next;
    assert.deepEqual([type, cursor, term], ["LEADER_CHANGED", 17, 9]);
    await probe.stop();
  });

  law(`past the last ${KEPT} events there is one RESYNC with the current state`, async (bench) => {
    const { elector, groupId } = bench;
    // An elector whose history is a few events behind may still show a few more than it must.
    const terms = KEPT / 2 + 8;
    for (let term = 1; term <= terms; term++) await handOver(elector, groupId, term);
    const count = 2 * terms;
    for (const server of [elector, await bench.other()]) {
      const kept = new WatchProbe(server, groupId, { cursor: count - KEPT });
      const cursors = (await kept.take(KEPT)).map((event) => event.cursor);
      assert.deepEqual(
        cursors,
        Array.from({ length: KEPT }, (_, i) => count - KEPT + 1 + i),
      );
      await kept.stop();
      const past = new WatchProbe(server, groupId, { cursor: 2 });
      const { type, cursor, term, leaderNodeId } = await past.next();
      assert.deepEqual([type, cursor, term, leaderNodeId], ["RESYNC", count, terms, null]);
      await past.stop();
    }
    const probe = new WatchProbe(elector, groupId, { cursor: 1 });
    assert.equal((await probe.next()).type, "RESYNC");
    await win(elector, candidate(groupId, "next"));
    const after = await probe.next();
    assert.deepEqual([after.type, after.cursor], ["LEADER_CHANGED", count + 1]);
    await probe.stop();
  });

  law("a cursor that is ahead of all events is a RESYNC", async (bench) => {
    const { elector, groupId } = bench;
    await win(elector, candidate(groupId, "a"));
    const probe = new WatchProbe(await bench.other(), groupId, { cursor: 1000 });
    const { type, cursor, term, leaderNodeId } = await probe.next();
    assert.deepEqual([type, cursor, term, leaderNodeId], ["RESYNC", 1, 1, "a"]);
    await probe.stop();
  });

  law("a malformed cursor is refused", async ({ elector, groupId }) => {
    for (const cursor of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "1" as unknown as number]) {
      const next = async () => watching(elector, groupId, { cursor }).next();
      await assert.rejects(next, (error) => error instanceof InvalidRequestError && error.field === "cursor");
    }
  });

  law("watches of different groups do not mix", async ({ elector, groupId }) => {
    const otherId = newGroupId();
    const probe = new WatchProbe(elector, groupId);
    await probe.next();
    await handOver(elector, otherId, 1);
    await win(elector, candidate(groupId, "mine"));
    assert.equal((await probe.next()).leaderNodeId, "mine");
    await probe.stop();
  });
}

async function first(elector: Elector, groupId: string): Promise<Omit<WatchEvent, "groupId" | "tsMs">> {
  const probe = new WatchProbe(elector, groupId);
  const { groupId: shown, tsMs, ...rest } = await probe.next();
  assert.equal(shown, groupId);
  assert(Number.isSafeInteger(tsMs));
  await probe.stop();
  return rest;
}

/** One term: won and resigned. */
async function handOver(elector: Elector, groupId: string, term: number): Promise<void> {
  const request = candidate(groupId, `node-${term}`);
  await win(elector, request);
  assert.deepEqual(await elector.resign(claimOf(request, term)), { kind: "resigned" });
}
