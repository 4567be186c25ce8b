/** Contact with the store, as watches of an elector report it. */
import { expect, test } from "vitest";
import type { StoreElector } from "./store-elector.js";
import { A, claimOf, inWorld, type World } from "./world.test-kit.js";

const QUIET_MS = 1750;
const RENEWAL_MS = 1000;
const LONG = { ...A, ttlMs: 5000 };

/** A watch of group g and its contact reports: the time, and whether there was an error. */
function watched(world: World, elector: StoreElector, quietMs = QUIET_MS) {
  const contacts: (readonly [number, boolean])[] = [];
  const stopping = new AbortController();
  const onContact = (error: unknown) => contacts.push([world.clock.monotonicMs(), error !== null]);
  const reading = (async () => {
    for await (const _event of elector.watch("g", { quietMs, onContact, signal: stopping.signal }));
  })().catch(() => {});
  const stop = () => {
    stopping.abort();
    return reading;
  };
  return { contacts, stop };
}

/** A leader at its own server, which renews until it is stopped. */
async function leading(world: World): Promise<{ isRenewing: boolean }> {
  const elector = world.elector();
  const leader = { isRenewing: true };
  await elector.campaign(LONG);
  const renew = () => {
    if (leader.isRenewing) void elector.renew({ ...claimOf(LONG, 1), ttlMs: 5000 });
    world.clock.after(RENEWAL_MS, renew);
  };
  world.clock.after(RENEWAL_MS, renew);
  return leader;
}

test(
  "a watch costs no read of the store while a leader renews",
  inWorld(async (w) => {
    await leading(w);
    const { elector, store } = w.farServer();
    const { contacts } = watched(w, elector);
    await w.clock.advance(10);
    const before = store.syncs;
    await w.clock.advance(60_000);
    expect(store.syncs - before).toBe(0);
    expect(contacts).toEqual([]);
  }),
);

test(
  "all watches of an idle store share one read, and none of them reports lost contact",
  inWorld(async (w) => {
    const { elector, store } = w.farServer();
    const all = [watched(w, elector), watched(w, elector), watched(w, elector)];
    await w.clock.advance(10);
    const before = store.syncs;
    await w.clock.advance(60_000);
    const everyMs = QUIET_MS * (2 / 3);
    expect(store.syncs - before).toBe(Math.floor(60_000 / everyMs));
    expect(all.flatMap(({ contacts }) => contacts)).toEqual([]);
  }),
);

test.each(["silent", "refusing"] as const)(
  "a watch reports within quietMs that its store is %s, and reports when contact is back",
  (manner) =>
    inWorld(async (w) => {
      await leading(w);
      const { elector, store, feeds } = w.farServer();
      const { contacts } = watched(w, elector);
      await w.clock.advance(10_000);
      const frozenAtMs = w.clock.monotonicMs();
      feeds.silenceFeeds();
      if (manner === "silent") store.fallSilent();
      else store.goOut();
      await w.clock.advance(30_000);
      expect(contacts).toEqual([[expect.any(Number), true]]);
      expect(contacts[0]?.[0]).toBeLessThanOrEqual(frozenAtMs + QUIET_MS);
      store.mend();
      feeds.breakFeeds();
      const backAtMs = w.clock.monotonicMs();
      await w.clock.advance(30_000);
      expect(contacts.slice(1)).toEqual([[expect.any(Number), false]]);
      expect(contacts[1]?.[0]).toBeLessThanOrEqual(backAtMs + QUIET_MS);
    })(),
);

test(
  "a watch that starts while contact with the store is lost reports it at once",
  inWorld(async (w) => {
    const { elector, store, feeds } = w.farServer();
    await w.clock.advance(10);
    const first = watched(w, elector);
    await w.clock.advance(10);
    feeds.silenceFeeds();
    store.fallSilent();
    await w.clock.advance(5000);
    expect(first.contacts).toHaveLength(1);
    const second = watched(w, elector);
    await w.clock.advance(1);
    expect(second.contacts).toEqual([[w.clock.monotonicMs() - 1, true]]);
  }),
);

test(
  "the smallest quietMs of several watches decides, even if that watch starts later",
  inWorld(async (w) => {
    const { elector, store, feeds } = w.farServer();
    watched(w, elector, 60_000);
    await w.clock.advance(10);
    const { contacts } = watched(w, elector, 900);
    await w.clock.advance(5000);
    const frozenAtMs = w.clock.monotonicMs();
    feeds.silenceFeeds();
    store.fallSilent();
    await w.clock.advance(2000);
    expect(contacts).toHaveLength(1);
    expect(contacts[0]?.[0]).toBeLessThanOrEqual(frozenAtMs + 900);
  }),
);

test(
  "a process that was stopped for a while reads the store before it reports lost contact",
  inWorld(async (w) => {
    const clock = w.clock.process();
    const { elector } = w.farServer({ clock });
    const { contacts } = watched(w, elector);
    await w.clock.advance(5000);
    clock.pause();
    await w.clock.advance(20_000);
    clock.resume();
    await w.clock.advance(5000);
    expect(contacts).toEqual([]);
  }),
);

test(
  "the store is no longer read once the last watch has ended",
  inWorld(async (w) => {
    const { elector, store } = w.farServer();
    const { stop } = watched(w, elector);
    await w.clock.advance(5000);
    await stop();
    const before = store.syncs;
    await w.clock.advance(60_000);
    expect(store.syncs - before).toBe(0);
  }),
);

test(
  "a quietMs below 875 is refused by name",
  inWorld(async (w) => {
    const { elector } = w.server();
    expect(() => elector.watch("g", { quietMs: 874, onContact: () => {} })).toThrow("quietMs");
  }),
);
