/** What a deleted group leaves in the store: its term, its last event and how the last term ended. */
import { expect, test } from "vitest";
import type { WatchEvent } from "../elector.js";
import { A, claimOf, failureOf, inWorld, refused, type World } from "./world.test-kit.js";
import type { StoreElector } from "./store-elector.js";

const SECRET = "metadata-of-the-leader";

/** A group with a configuration, metadata, members and more events than its record holds. */
async function lead(w: World, elector: StoreElector): Promise<void> {
  await w.until(elector.createGroup({ groupId: "g", allowedNodes: ["a", "b"] }));
  for (let term = 1; term <= 5; term++) {
    await w.until(elector.campaign({ ...A, metadata: { note: SECRET } }));
    if (term < 5) await w.until(elector.resign(claimOf(A, term)));
  }
  await w.clock.advance(500);
}

async function stored(w: World): Promise<Record<string, string>> {
  for await (const { entries } of w.truth.feed()) {
    return Object.fromEntries(entries.map(({ key, value }) => [key, value]));
  }
  return {};
}

async function take(w: World, events: AsyncIterable<WatchEvent>): Promise<WatchEvent> {
  const iterator = events[Symbol.asyncIterator]();
  const { value } = await w.until(iterator.next());
  await iterator.return?.();
  if (value.done === true) throw new Error("the watch has ended");
  return value.value;
}

test(
  "a deleted group leaves a few hundred bytes in the store, without configuration, metadata, history or members",
  inWorld(async (w) => {
    const { elector } = w.server({ keepMembers: true });
    await lead(w, elector);
    expect(JSON.stringify(await stored(w))).toContain(SECRET);
    await w.until(elector.deleteGroup({ groupId: "g", by: "ops", force: true }));
    await w.clock.advance(15_000);
    const left = await stored(w);
    expect(Object.keys(left).sort()).toEqual(["h/g", "m/g", "r/g"]);
    expect(JSON.stringify(left).length).toBeLessThan(400);
    expect(JSON.stringify(left)).not.toContain(SECRET);
    expect(await w.record()).toMatchObject({ term: 5, eventNumber: 10, config: null, deleted: true });
    expect((await w.history()).map(({ number }) => number)).toEqual([10]);
    expect(left["m/g"]).not.toContain('"a"');
  }),
);

test(
  "terms and event numbers continue after a deletion, and a repeated resignation gets the same answer",
  inWorld(async (w) => {
    const { elector } = w.server({ keepMembers: true });
    await lead(w, elector);
    await w.until(elector.resign(claimOf(A, 5)));
    await w.until(elector.deleteGroup({ groupId: "g", by: "ops" }));
    await w.clock.advance(15_000);
    expect((await w.until(elector.resign(claimOf(A, 5)))).value).toEqual({ kind: "resigned" });
    expect((await w.until(elector.leader("g"))).value).toMatchObject({ leader: null, term: 5 });
    expect((await w.until(elector.campaign(A))).value).toMatchObject({
      kind: "elected",
      leader: { term: 6 },
    });
    await w.clock.advance(500);
    expect((await w.history()).map(({ number }) => number)).toEqual([10, 11]);
  }),
);

test(
  "a watcher that missed only the deletion gets its event, and one further behind gets a RESYNC",
  inWorld(async (w) => {
    const { elector } = w.server({ keepMembers: true });
    await lead(w, elector);
    await w.until(elector.deleteGroup({ groupId: "g", by: "ops", force: true }));
    await w.clock.advance(15_000);
    const { elector: other } = w.server();
    for (const each of [elector, other]) {
      expect(await take(w, each.watch("g", { cursor: 9 }))).toMatchObject({
        type: "LEADER_LOST",
        cursor: 10,
        reason: "deposed",
        by: "ops",
      });
      expect(await take(w, each.watch("g", { cursor: 3 }))).toMatchObject({ type: "RESYNC", cursor: 10 });
    }
  }),
);

test(
  "an interrupted deletion is completed by another server, which empties history and members",
  inWorld(async (w) => {
    const { elector, store } = w.server({ keepMembers: true });
    await lead(w, elector);
    store.always("h/", refused);
    store.always("m/", refused);
    await w.until(elector.deleteGroup({ groupId: "g", by: "ops", force: true }));
    // The first server can write neither history nor members; the second opens the store after the deletion.
    w.server({ keepMembers: true });
    await w.clock.advance(15_000);
    expect((await w.history()).map(({ number }) => number)).toEqual([10]);
    expect((await stored(w))["m/g"]).not.toContain('"a"');
  }),
);

test(
  "a server with an old view of a deletion does not drop the events of the recreated group",
  inWorld(async (w) => {
    const { elector: one, store } = w.server();
    await lead(w, one);
    // Deleted here, while the history is written only after the group was recreated and led elsewhere.
    store.next("h/", refused, 2);
    await w.until(one.deleteGroup({ groupId: "g", by: "ops", force: true }));
    const { elector: two } = w.server();
    await w.until(two.campaign({ ...A, nodeId: "b" }));
    await w.clock.advance(10_000);
    const { elector: three } = w.server();
    expect(await take(w, three.watch("g", { cursor: 10 }))).toMatchObject({
      type: "LEADER_CHANGED",
      cursor: 11,
    });
    expect((await w.history()).at(-1)?.number).toBeGreaterThanOrEqual(11);
  }),
);

test(
  "deleting a group that never existed writes nothing",
  inWorld(async (w) => {
    const { elector } = w.server();
    await w.until(failureOf(elector.deleteGroup({ groupId: "never", by: "ops" })));
    await w.clock.advance(5000);
    expect(await stored(w)).toEqual({});
  }),
);
