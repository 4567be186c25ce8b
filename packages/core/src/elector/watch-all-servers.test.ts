/**
 * Watches of all groups over broken feeds, feeds that leave values out, and several servers lose and repeat nothing.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { WatchEvent } from "../elector.js";
import { MemoryStore } from "../store/memory-store.js";
import type { Entry, FeedItem } from "../store/store.js";
import { FaultyStore } from "../testing/faulty-store.js";
import { noFaults } from "../testing/fault-plan.js";
import { Random } from "../testing/random.js";
import { VirtualClock } from "../testing/virtual-clock.js";
import { StoreElector } from "./store-elector.js";
import { A, B, claimOf, inWorld, ScriptedStore } from "./world.test-kit.js";

/** Follows a watch and checks each item: an event follows the last one of its group, a state never goes back. */
class Follower {
  /** Per group: twice the term, plus one once the term was lost. */
  readonly known = new Map<string, number>();
  readonly seen: string[] = [];
  readonly faults: string[] = [];
  resyncs = 0;
  cursor: number | undefined;
  #stop: AbortController | null = null;

  async follow(elector: StoreElector): Promise<void> {
    const controller = new AbortController();
    this.#stop = controller;
    const options = { cursor: this.cursor, signal: controller.signal };
    try {
      for await (const event of elector.watchAll(options)) {
        this.#judge(event);
        if (event.partial !== true) this.cursor = event.cursor;
        if (controller.signal.aborted) return;
      }
    } catch {
      // Ended by the signal or by the elector's close.
    }
  }

  leave(): void {
    this.#stop?.abort();
  }

  #judge({ type, groupId, term, leaderNodeId, cursor, partial }: WatchEvent): void {
    const before = this.known.get(groupId) ?? 1;
    const now = leaderNodeId === null ? 2 * term + 1 : 2 * term;
    const said = `${groupId} ${type} term ${term} ${String(leaderNodeId)}`;
    this.seen.push(`${said} @${cursor}`);
    if (type === "RESYNC" || partial === true || !this.known.has(groupId)) {
      if (type === "RESYNC") this.resyncs++;
      if (now < before) this.faults.push(`${said} shows what came before ${before}`);
    } else if (now !== before + 1) {
      this.faults.push(`${said} follows ${before}`);
    }
    this.known.set(groupId, now);
  }
}

test(
  "a server's own write acknowledged while a snapshot is on its way is delivered to the watch",
  inWorld(async (w) => {
    const { elector, plan, feeds } = w.farServer();
    await w.clock.advance(0);
    await w.until(elector.campaign(A));
    const follower = new Follower();
    void follower.follow(elector);
    await w.clock.advance(100);
    await w.until(elector.resign(claimOf(A, 1)));
    await w.clock.advance(100);
    // The snapshot is taken before the campaign and arrives after it.
    plan.feedMs = [200, 200];
    feeds.breakFeeds();
    await w.clock.advance(50);
    await w.until(elector.campaign({ ...B, ttlMs: 60_000 }));
    plan.feedMs = [0, 0];
    await w.clock.advance(20_000);
    expect(follower.faults).toEqual([]);
    expect(follower.known.get("g")).toBe(4);
    expect(follower.resyncs).toBe(0);
    follower.leave();
  }),
);

/** A store whose feed is delivered by the test: all writes so far at once, with only the last value of each key. */
class HandFed extends MemoryStore {
  #pull: (() => void)[] = [];

  override async *feed(options?: { readonly signal?: AbortSignal }): AsyncGenerator<FeedItem> {
    const iterator = super.feed(options)[Symbol.asyncIterator]();
    yield (await iterator.next()).value as FeedItem;
    for (;;) {
      await new Promise<void>((resolve) => {
        this.#pull.push(resolve);
        options?.signal?.addEventListener("abort", () => resolve(), { once: true });
      });
      const item = (await iterator.next()).value as FeedItem;
      const last = new Map<string, Entry>();
      for (const entry of item.entries) {
        last.delete(entry.key);
        last.set(entry.key, entry);
      }
      yield { ...item, entries: [...last.values()] };
    }
  }

  deliver(): void {
    for (const pull of this.#pull.splice(0)) pull();
  }
}

test("events that one server saw in separate writes and another together are delivered once, in either direction", async () => {
  for (const [first, second] of [
    ["singly", "together"],
    ["together", "singly"],
  ] as const) {
    for (const cut of [0, 1, 2]) {
      const clock = new VirtualClock();
      const truth = new HandFed();
      const plain = new ScriptedStore(truth);
      plain.feed = (options) => MemoryStore.prototype.feed.call(truth, options);
      const servers = {
        singly: StoreElector.open({ store: plain, clock }),
        together: StoreElector.open({ store: truth, clock }),
      };
      await clock.advance(0);
      const follower = new Follower();
      void follower.follow(servers[first]);
      await clock.advance(0);
      truth.deliver();
      await servers.singly.campaign({ groupId: "other", nodeId: "o", ttlMs: 10_000 });
      truth.deliver();
      await clock.advance(10);
      expect(follower.known.get("other")).toBe(2);
      const { groupId, nodeId } = { groupId: "g", nodeId: "a" };
      await servers.singly.campaign({ groupId, nodeId, ttlMs: 10_000 });
      await servers.singly.renew({ groupId, nodeId, term: 1, ttlMs: 10_000 });
      await servers.singly.resign({ groupId, nodeId, term: 1 });
      if (cut === 0) {
        truth.deliver();
        await clock.advance(10);
        follower.leave();
      } else {
        const leaveAt = follower.seen.length + cut;
        const push = follower.seen.push.bind(follower.seen);
        follower.seen.push = (...items) => {
          const length = push(...items);
          if (length >= leaveAt) follower.leave();
          return length;
        };
        truth.deliver();
        await clock.advance(10);
        follower.leave();
      }
      truth.deliver();
      await clock.advance(10);
      void follower.follow(servers[second]);
      await clock.advance(10);
      expect([follower.faults, follower.known.get("g"), follower.known.get("other")]).toEqual([[], 3, 2]);
      follower.leave();
      await servers.singly.close();
      await servers.together.close();
    }
  }
});

const ACTS = fc.array(
  fc.record({
    act: fc.constantFrom("elect", "elect", "elect", "break", "hop", "hop", "stall", "wait"),
    group: fc.nat(3),
    server: fc.nat(1),
    ms: fc.nat(40),
  }),
  { minLength: 5, maxLength: 40 },
);

test("a watcher that moves between servers loses and repeats no event, whatever the feeds leave out", async () => {
  await fc.assert(
    fc.asyncProperty(ACTS, fc.nat(), async (acts, seed) => {
      const clock = new VirtualClock();
      const truth = new MemoryStore();
      const sides = [0, 1].map((index) => {
        const plan = { ...noFaults(), coalesceRate: 0.8, feedMs: [0, 30] as const };
        const store = new FaultyStore({ store: truth, time: clock, random: new Random(seed + index), plan });
        return { plan, store, elector: StoreElector.open({ store, clock, random: () => 0.5 }) };
      });
      const follower = new Follower();
      void follower.follow((sides[0] as (typeof sides)[0]).elector);
      const terms = new Map<string, number>();
      await clock.advance(100);
      // The follower has a cursor from here on.
      const begun = sides[0]?.elector.campaign({ groupId: "first", nodeId: "a", ttlMs: 60_000 });
      await clock.advance(200);
      await begun;
      expect(follower.cursor).toBeDefined();
      for (const { act, group, server, ms } of acts) {
        const side = sides[server] as (typeof sides)[0];
        const groupId = `g${group}`;
        if (act === "elect") {
          const term = terms.get(groupId);
          const work =
            term === undefined
              ? side.elector
                  .campaign({ groupId, nodeId: "a", ttlMs: 60_000 })
                  .then((result) => result.kind === "elected" && terms.set(groupId, result.leader.term))
              : side.elector.resign({ groupId, nodeId: "a", term }).then(() => terms.delete(groupId));
          work.catch(() => {});
        } else if (act === "break") {
          side.store.breakFeeds();
        } else if (act === "stall") {
          side.plan.feedStalledUntilMs = clock.monotonicMs() + 5 * ms;
        } else if (act === "hop") {
          follower.leave();
          void follower.follow(side.elector);
        }
        await clock.advance(ms);
      }
      await clock.advance(5000);
      expect(follower.faults).toEqual([]);
      for (const { elector } of sides) {
        for (let group = 0; group < 4; group++) {
          const leadership = elector.leader(`g${group}`);
          await clock.advance(200);
          const { leader, term } = await leadership;
          const now = leader === null ? 2 * term + 1 : 2 * term;
          if (term > 0) expect([group, follower.known.get(`g${group}`)]).toEqual([group, now]);
        }
      }
      follower.leave();
      const closed = Promise.all(sides.map(({ elector }) => elector.close()));
      await clock.advance(5000);
      await closed;
    }),
  );
});
