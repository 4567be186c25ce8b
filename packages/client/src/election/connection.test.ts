/** How soon the connection status of a follower is right. */
import { sleep } from "@tenure/core";
import { describe, expect, test } from "vitest";
import { ok, ScriptedCarrier, type ScriptedServer } from "../http/scripted-carrier.test-kit.js";
import { Election } from "./election.js";
import type { ElectionOptions } from "./options.js";
import { type Participant, World } from "./world.test-kit.js";

/** The default. */
const heartbeatMs = (ttlMs: number) => ttlMs / 5;
const timeoutMs = (ttlMs: number) => heartbeatMs(ttlMs) * 0.75;
/** When a leader would notice, and a follower must. A server is asked for at most two keep-alives a second. */
const noticeMs = (ttlMs: number) => Math.max(875, heartbeatMs(ttlMs) + timeoutMs(ttlMs));

const WAYS = [
  { way: "by waiting in the queue", options: {} },
  { way: "by the watch", options: { campaignWaitMs: 0 } },
  { way: "by the watch, with a takeover delay", options: { takeoverDelayMs: 1000 } },
] as const;
const TTLS = [1000, 2500, 5000, 30_000] as const;
/** The freeze falls somewhere between two keep-alives. */
const PHASES_MS = [1, 137, 499, 750, 999] as const;

const CASES = WAYS.flatMap(({ way, options }) => TTLS.map((ttlMs) => ({ way, ttlMs, options })));

/** Every change of the status, with its time. */
function statuses(election: Election, nowMs: () => number): (readonly [string, number])[] {
  const seen: (readonly [string, number])[] = [];
  election.on("connection", ({ status }) => seen.push([status, nowMs()]));
  return seen;
}

describe("The connection status of a follower over HTTP", () => {
  const LEADER = { node_id: "a", term: 1, lease_expires_at_ms: 0 };

  /** A server of a group that another node leads. Frozen, it sends nothing more, not even to pending requests. */
  function service(carrier: () => ScriptedCarrier): ScriptedServer & { isFrozen: boolean } {
    const never = () => new Promise<never>(() => {});
    const server = {
      isFrozen: false,
      answer: async ({ body, path }: { body: Readonly<Record<string, unknown>>; path: string }) => {
        if (server.isFrozen) return never();
        await sleep(carrier().clock, Number(body["wait_ms"] ?? 0));
        if (server.isFrozen) return never();
        if (path.endsWith("/leader")) return ok({ leader: LEADER, term: 1 });
        return ok({ is_leader: false, leader: LEADER, retry_after_ms: 100 });
      },
      stream: ({ body }: { body: Readonly<Record<string, unknown>> }, say: (text: string) => void) => {
        if (server.isFrozen) return never();
        const event = { type: "LEADER_CHANGED", group_id: "g", number: 1, term: 1, leader_node_id: "a" };
        say(
          `data: ${JSON.stringify({ ...event, previous_leader_node_id: null, reason: "none", ts_ms: 0 })}\n\n`,
        );
        // The service sends a sign of life every 15 s where the request does not say how often.
        const everyMs = Number(body["keep_alive_ms"] ?? 15_000);
        const goOn = () => {
          if (!server.isFrozen) say(":\n\n");
          carrier().clock.after(everyMs, goOn);
        };
        carrier().clock.after(everyMs, goOn);
      },
    };
    return server;
  }

  async function follower(options: Partial<ElectionOptions>) {
    const carrier: ScriptedCarrier = new ScriptedCarrier({ one: {} });
    const server = service(() => carrier);
    carrier.servers["one"] = server;
    const { clock } = carrier;
    const election = new Election(await carrier.elector(), {
      groupId: "g",
      nodeId: "b",
      clock,
      random: () => 0.5,
      ...options,
    });
    const seen = statuses(election, () => clock.monotonicMs());
    void election.start();
    return { carrier, clock, server, election, seen };
  }

  test.each(CASES)(
    "a follower over HTTP becomes disconnected within a heartbeat and connectionTimeoutMs of its server's freeze ($way, ttl $ttlMs)",
    async ({ ttlMs, options }) => {
      for (const phaseMs of PHASES_MS) {
        const { clock, server, seen } = await follower({ ttlMs, ...options });
        await clock.advance(20_000 + phaseMs);
        expect(seen.map(([status]) => status)).toEqual(["connected"]);
        server.isFrozen = true;
        const frozenAtMs = clock.monotonicMs();
        await clock.advance(noticeMs(ttlMs));
        expect(seen.map(([status]) => status)).toEqual(["connected", "disconnected"]);
        expect((seen[1]?.[1] ?? 0) - frozenAtMs).toBeLessThanOrEqual(noticeMs(ttlMs));
      }
    },
  );

  test.each(TTLS)(
    "the connection status over HTTP costs no request, and a keep-alive per heartbeat of at most two a second (ttl %i)",
    async (ttlMs) => {
      const { carrier, clock, seen } = await follower({ ttlMs, takeoverDelayMs: 1000 });
      await clock.advance(60_000);
      expect(seen.map(([status]) => status)).toEqual(["connected"]);
      expect(carrier.asked.map(({ body }) => body["keep_alive_ms"])).toEqual([
        Math.max(500, Math.floor(heartbeatMs(ttlMs))),
      ]);
      expect(carrier.asked).toHaveLength(1);
    },
  );
});

describe("The connection status of a follower over a store", () => {
  const open = (world: World, ttlMs: number, options: Partial<ElectionOptions>) => {
    const a = world.distant("a", { ttlMs });
    const b = world.distant("b", { ttlMs, ...options });
    const seen = statuses(b.election, () => world.clock.monotonicMs());
    return { a, b, seen };
  };
  const stopped = (world: World, ...all: Participant[]) =>
    world.until(Promise.all(all.map(({ election }) => election.stop())));

  test.each(CASES)(
    "a follower over a store becomes disconnected within a heartbeat and connectionTimeoutMs of the store's silence ($way, ttl $ttlMs)",
    async ({ ttlMs, options }) => {
      for (const phaseMs of PHASES_MS) {
        const world = new World();
        const { a, b, seen } = open(world, ttlMs, options);
        await world.until(a.election.start());
        await world.until(b.election.start());
        await world.clock.advance(10_000 + phaseMs);
        expect(seen.map(([status]) => status)).toEqual(["connected"]);
        const { plan } = b;
        // No request arrives, and none is refused.
        plan.requestMs = [1_000_000, 1_000_000];
        plan.feedStalledUntilMs = world.clock.monotonicMs() + noticeMs(ttlMs) + 50;
        const frozenAtMs = world.clock.monotonicMs();
        await world.clock.advance(noticeMs(ttlMs));
        expect(seen.map(([status]) => status)).toEqual(["connected", "disconnected"]);
        expect((seen[1]?.[1] ?? 0) - frozenAtMs).toBeLessThanOrEqual(noticeMs(ttlMs));
        plan.requestMs = [0, 0];
        await stopped(world, a, b);
        await world.close();
      }
    },
  );

  test("a follower over a store becomes connected again when the store answers, without a request of its own", async () => {
    const world = new World();
    const { a, b, seen } = open(world, 5000, { takeoverDelayMs: 1000 });
    await world.until(a.election.start());
    await world.until(b.election.start());
    b.plan.requestMs = [1_000_000, 1_000_000];
    b.plan.feedStalledUntilMs = world.clock.monotonicMs() + 10_000;
    await world.clock.advance(9999);
    expect(seen.map(([status]) => status)).toEqual(["connected", "disconnected"]);
    b.plan.requestMs = [0, 0];
    await world.clock.advance(noticeMs(5000));
    expect(seen.map(([status]) => status)).toEqual(["connected", "disconnected", "connected"]);
    await stopped(world, a, b);
    await world.close();
  });

  test("the connection status over a store costs no read of the store while a leader renews", async () => {
    const world = new World();
    const { a, b } = open(world, 5000, { takeoverDelayMs: 1000 });
    await world.until(a.election.start());
    await world.until(b.election.start());
    await world.clock.advance(1000);
    const before = b.store.counts.syncs;
    await world.clock.advance(60_000);
    expect(b.store.counts.syncs - before).toBe(0);
    await stopped(world, a, b);
    await world.close();
  });
});
