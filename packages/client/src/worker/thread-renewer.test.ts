/** The renewing side in virtual time; its real thread is tested with real processes. */
import {
  BackendUnavailableError,
  type Elector,
  type LeaseAnswer,
  MemoryStore,
  type RenewRequest,
  type RenewResult,
  sendMoment,
  StoreElector,
} from "@tenure/core";
import { type ProcessClock, VirtualClock } from "@tenure/core/testing";
import { afterEach, describe, expect, test } from "vitest";
import { parseRetry } from "../election/options.js";
import type { TermMessage } from "./messages.js";
import { SharedLease } from "./shared-lease.js";
import { LAPSED, LED, NOT_LEADER } from "./term-memory.js";
import { ThreadRenewer } from "./thread-renewer.js";

const TTL_MS = 1000;
const BEAT_MS = 200;
const STALL_LIMIT_MS = 2000;

interface Scene {
  readonly world: VirtualClock;
  readonly elector: StoreElector;
  readonly lease: SharedLease;
  readonly renewer: ThreadRenewer;
  readonly told: TermMessage[];
  readonly renewals: number[];
  /** Advances time while the main thread gives its signs of life. */
  readonly live: (ms: number) => Promise<void>;
  fails: boolean;
}

const undo: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0)) await step();
});

async function led(): Promise<Scene> {
  const world = new VirtualClock();
  // This thread's time is the machine's own here.
  const clock: ProcessClock = world.process();
  const elector = StoreElector.open({ store: new MemoryStore(), clock });
  undo.push(async () => {
    const closed = elector.close();
    await world.advance(60_000);
    await closed;
  });
  const candidate = { groupId: "g", nodeId: "a", instanceId: "i", ttlMs: TTL_MS };
  const won: LeaseAnswer = { sent: sendMoment(clock), ttlMs: TTL_MS };
  expect(await elector.campaign(candidate)).toMatchObject({ kind: "elected", leader: { term: 1 } });
  const told: TermMessage[] = [];
  const renewals: number[] = [];
  const offset = { atLeastMs: 0, atMostMs: 0 };
  const lease = new SharedLease(
    { term: 1, clock, driftRatio: 0.01, stallLimitMs: STALL_LIMIT_MS, notLeader: () => {} },
    offset,
  );
  lease.begin(won);
  const scene = { fails: false };
  const counting = {
    renew: (request: RenewRequest): Promise<RenewResult> => {
      renewals.push(clock.monotonicMs());
      if (scene.fails) return Promise.reject(new BackendUnavailableError("nobody there"));
      return elector.renew(request);
    },
  } as Elector;
  const renewer = new ThreadRenewer({
    id: 3,
    order: {
      memory: lease.memory.buffer,
      renewal: { ...candidate, term: 1 },
      won,
      heartbeatIntervalMs: BEAT_MS,
      timeoutMs: 150,
      retry: parseRetry(undefined),
      driftRatio: 0.01,
      stallLimitMs: STALL_LIMIT_MS,
    },
    elector: counting,
    clock,
    random: () => 1,
    tell: (message) => void told.push(message),
  });
  renewer.start();
  undo.unshift(async () => renewer.stop());
  const live = async (ms: number) => {
    for (let passedMs = 0; passedMs < ms; passedMs += BEAT_MS) {
      lease.sign(true);
      await world.advance(BEAT_MS);
    }
  };
  return Object.assign(scene, { world, elector, lease, renewer, told, renewals, live });
}

describe("the renewing thread", () => {
  test("the renewing thread keeps the lease while the main thread sends heartbeats, and reports each renewal", async () => {
    const { lease, live, renewals, told } = await led();
    await live(10 * TTL_MS);
    expect(lease.isInside()).toBe(true);
    expect(renewals).toHaveLength((10 * TTL_MS) / BEAT_MS);
    expect(new Set(told.map(({ kind, id }) => `${kind} ${id}`))).toEqual(new Set(["renewed 3"]));
  });

  test("the renewing thread keeps the lease through a stall shorter than the limit", async () => {
    const { lease, world, live } = await led();
    await live(TTL_MS);
    // The last sign of life came a heartbeat ago.
    await world.advance(STALL_LIMIT_MS - BEAT_MS - 1);
    expect(lease.isInside()).toBe(true);
    await live(5 * TTL_MS);
    expect(lease.isInside()).toBe(true);
  });

  test("the renewing thread gives the lease up after a longer stall, without a renewal or resign, for both threads", async () => {
    const { lease, world, live, renewals, elector } = await led();
    await live(TTL_MS);
    const lastSignMs = TTL_MS - BEAT_MS;
    await world.advance(STALL_LIMIT_MS + TTL_MS / 2);
    expect(Math.max(...renewals)).toBeLessThan(lastSignMs + STALL_LIMIT_MS);
    expect(Math.max(...renewals)).toBeGreaterThanOrEqual(lastSignMs + STALL_LIMIT_MS - BEAT_MS);
    expect(lease.memory.state).toBe(LAPSED);
    expect(lease.isInside()).toBe(false);
    // The lease itself still runs, so no other node may win yet.
    const { leader } = await elector.leader("g");
    expect(leader).toMatchObject({ nodeId: "a", term: 1 });
    expect(await elector.campaign({ groupId: "g", nodeId: "b", ttlMs: TTL_MS })).toMatchObject({
      kind: "lost",
    });
  });

  test("the renewing thread does not renew while the main thread is not fit to lead", async () => {
    const { lease, world, renewals } = await led();
    lease.sign(false);
    await world.advance(3 * BEAT_MS);
    expect(renewals).toEqual([]);
    lease.sign(true);
    await world.advance(BEAT_MS);
    expect(renewals).toHaveLength(1);
  });

  test("the renewing thread stops when the main thread has ended the term", async () => {
    const { lease, live, renewals } = await led();
    await live(TTL_MS);
    const sent = renewals.length;
    lease.end();
    await live(TTL_MS);
    expect(renewals).toHaveLength(sent);
  });

  test("the renewing thread that gets NOT_LEADER ends the term for both threads before it reports it", async () => {
    const { lease, live, told, elector, renewals } = await led();
    await live(BEAT_MS);
    await elector.resign({ groupId: "g", nodeId: "a", instanceId: "i", term: 1 });
    await live(BEAT_MS);
    expect(told.at(-1)).toEqual({ kind: "not-leader", id: 3 });
    expect(lease.memory.state).toBe(NOT_LEADER);
    const sent = renewals.length;
    await live(TTL_MS);
    expect(renewals).toHaveLength(sent);
  });

  test("the renewing thread reports failures with their code, retries, and ends when the lease has expired", async () => {
    const scene = await led();
    const { lease, live, told } = scene;
    scene.fails = true;
    await live(TTL_MS / 2);
    expect(lease.memory.state).toBe(LED);
    expect(told[0]).toMatchObject({ kind: "failed", code: "BACKEND_UNAVAILABLE", message: "nobody there" });
    expect(told.some((each) => each.kind === "failed" && each.repeated)).toBe(true);
    await live(TTL_MS);
    expect(lease.memory.state).toBe(LAPSED);
    const said = told.length;
    await live(TTL_MS);
    expect(told).toHaveLength(said);
  });
});
