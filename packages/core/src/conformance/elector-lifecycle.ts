/** Laws of aborted calls and of `close`. */
import assert from "node:assert/strict";
import type { CallOptions } from "../store/store.js";
import type { Elector } from "../elector.js";
import { ClosedError } from "../errors.js";
import {
  arrived,
  candidate,
  claimOf,
  type ElectorLaw,
  isLeader,
  LONG_MS,
  lost,
  mark,
  newGroupId,
  watching,
  win,
} from "./elector-support.js";

/** Every verb of an elector, on a group that `a` leads in term 1. */
export function verbs(groupId: string): readonly {
  readonly name: string;
  readonly call: (elector: Elector, options?: CallOptions) => Promise<unknown>;
}[] {
  const claim = { groupId, nodeId: "a", term: 1 };
  return [
    {
      name: "campaign",
      call: (elector, options) => elector.campaign(candidate(groupId, "b"), options),
    },
    {
      name: "a waiting campaign",
      call: (elector, options) => elector.campaign(candidate(groupId, "b", { waitMs: LONG_MS }), options),
    },
    { name: "renew", call: (elector, options) => elector.renew({ ...claim, ttlMs: LONG_MS }, options) },
    {
      name: "renewMany",
      call: (elector, options) => elector.renewMany([{ ...claim, ttlMs: LONG_MS }], options),
    },
    { name: "resign", call: (elector, options) => elector.resign({ ...claim, nodeId: "b" }, options) },
    { name: "leader", call: (elector, options) => elector.leader(groupId, options) },
    {
      name: "a local read",
      call: (elector, options) => elector.leader(groupId, { ...options, consistency: "local" }),
    },
    {
      name: "watch",
      call: async (elector, options) => watching(elector, groupId, options).next(),
    },
    {
      name: "watch from a cursor",
      call: async (elector, options) => watching(elector, groupId, { ...options, cursor: 1 }).next(),
    },
  ];
}

export function abortLaws(law: ElectorLaw): void {
  law(
    "a call whose signal is already aborted rejects with the signal's reason and changes nothing",
    async (bench) => {
      const { elector, groupId } = bench;
      await win(elector, { groupId, nodeId: "a", ttlMs: LONG_MS });
      const before = await mark(elector, groupId);
      for (const { name, call } of verbs(groupId)) {
        const reason = new Error(`${name} was not wanted`);
        await assert.rejects(
          call(elector, { signal: AbortSignal.abort(reason) }),
          (error) => error === reason,
          name,
        );
      }
      const vacant = newGroupId();
      await assert.rejects(elector.campaign(candidate(vacant, "a"), { signal: AbortSignal.abort() }));
      await assert.rejects(
        elector.resign({ groupId, nodeId: "a", term: 1 }, { signal: AbortSignal.abort() }),
      );
      assert.equal(await mark(elector, groupId), before);
      assert.equal(await mark(elector, vacant), "null leads term 0 after 0 events");
    },
  );

  law("a call aborted in flight rejects with the signal's reason at once", async ({ elector, groupId }) => {
    await win(elector, { groupId, nodeId: "a", ttlMs: LONG_MS });
    for (const { name, call } of verbs(groupId)) {
      if (name === "a local read") continue; // Answered from memory, so an abort cannot come first.
      const reason = new Error(`${name} is not wanted any more`);
      const controller = new AbortController();
      const calling = call(elector, { signal: controller.signal });
      controller.abort(reason);
      await assert.rejects(calling, (error) => error === reason, name);
    }
    isLeader((await elector.leader(groupId)).leader, "a", 1);
    assert.equal((await elector.renew({ groupId, nodeId: "a", term: 1, ttlMs: LONG_MS })).kind, "renewed");
  });

  law("a signal aborted after the answer changes nothing", async ({ elector, groupId }) => {
    const controller = new AbortController();
    const request = candidate(groupId, "a", { waitMs: LONG_MS });
    await elector.campaign(request, { signal: controller.signal });
    controller.abort();
    await arrived(elector, groupId);
    assert.equal((await elector.renew({ ...claimOf(request, 1), ttlMs: LONG_MS })).kind, "renewed");
    isLeader((await elector.leader(groupId)).leader, "a", 1);
  });

  law(
    "a waiting watch ends with the signal's reason when the signal is aborted",
    async ({ elector, groupId }) => {
      const controller = new AbortController();
      const reason = new Error("seen enough");
      const iterator = watching(elector, groupId, { signal: controller.signal });
      await iterator.next();
      const next = iterator.next();
      await arrived(elector, groupId);
      controller.abort(reason);
      await assert.rejects(next, (error) => error === reason);
      assert.equal((await iterator.next()).done, true);
    },
  );

  law("a reader that leaves its loop early ends its watch", async ({ elector, groupId }) => {
    await win(elector, candidate(groupId, "a"));
    for await (const event of elector.watch(groupId)) {
      assert.equal(event.leaderNodeId, "a");
      break;
    }
  });
}

export function closeLaws(law: ElectorLaw): void {
  law("close answers waiting campaigns as lost and ends watches", async ({ elector, groupId }) => {
    await win(elector, candidate(groupId, "a"));
    const waiting = ["b", "c"].map((nodeId) =>
      elector.campaign(candidate(groupId, nodeId, { waitMs: 60_000 })),
    );
    const iterator = watching(elector, groupId);
    await iterator.next();
    const next = iterator.next();
    const ended = assert.rejects(next, (error) => error instanceof ClosedError);
    await arrived(elector, groupId);
    await elector.close();
    for (const result of await Promise.all(waiting)) isLeader(lost(result).leader, "a", 1);
    await ended;
    assert.equal((await iterator.next()).done, true);
  });

  law(
    "a call in flight when the elector closes is answered or rejects with ClosedError",
    async ({ elector, groupId }) => {
      const request = candidate(groupId, "a");
      await win(elector, request);
      const settled = Promise.allSettled(verbs(groupId).map(({ call }) => call(elector)));
      await elector.close();
      for (const [index, result] of (await settled).entries()) {
        const name = verbs(groupId)[index]?.name;
        if (result.status === "rejected") {
          assert(result.reason instanceof ClosedError, `${name} ended with ${String(result.reason)}`);
        }
      }
    },
  );

  law("after close every verb rejects with ClosedError", async ({ elector, groupId }) => {
    await win(elector, { groupId, nodeId: "a", ttlMs: LONG_MS });
    await elector.close();
    for (const { name, call } of verbs(groupId)) {
      await assert.rejects(call(elector), (error) => error instanceof ClosedError, name);
    }
  });

  law("close may be called twice, and closing one elector leaves another open", async (bench) => {
    const { elector, groupId } = bench;
    const other = await bench.other();
    const request = candidate(groupId, "a");
    await win(elector, request);
    await Promise.all([elector.close(), elector.close()]);
    await elector.close();
    await elector[Symbol.asyncDispose]();
    if (other === elector) return;
    assert.equal((await other.renew({ ...claimOf(request, 1), ttlMs: LONG_MS })).kind, "renewed");
  });
}
