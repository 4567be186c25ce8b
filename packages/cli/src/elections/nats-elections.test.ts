/** Elections directly over a real nats-server, without a service: each has its own elector and store. */
import { sleep, systemClock } from "@tenure/core";
import { FaultProxy, isMissing, type NatsEngine, startNats } from "@tenure/engines";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Told } from "./messages.test-kit.js";
import type { Participant } from "./participant.test-kit.js";
import { Participants } from "./participants.test-kit.js";

const TTL_MS = 1500;
const LONG_TTL_MS = 20_000;

const HERD_PROCESSES = 3;
const HERD_EACH = 40;
const FOLLOWERS = HERD_PROCESSES * HERD_EACH;
const HERD_TTL_MS = 3000;

type Promoted = Extract<Told, { kind: "promoted" }>;

describe.skipIf(isMissing("nats"))("elections over NATS", () => {
  let engine: NatsEngine;
  let participants = new Participants();
  beforeAll(async () => {
    engine = await startNats();
  });
  afterEach(async () => {
    await participants.close();
    participants = new Participants();
  });
  afterAll(() => engine.stop());

  function launch(nodeId: string, { ttlMs = TTL_MS, store = engine.url } = {}): Promise<Participant> {
    return participants.launch({ nodeId, ttlMs, store });
  }

  function many(count: number): Promise<Participant[]> {
    return Promise.all(Array.from({ length: count }, (_, index) => launch(`node-${index}`)));
  }

  it("one of many candidates leads over NATS, and when it is killed, another takes over in a later term", async () => {
    const group = "many";
    let left = await many(4);
    await Promise.all(left.map((each) => each.start(group)));
    let term = 0;
    while (left.length > 1) {
      const won = await firstPromoted(left, group);
      expect(won.promoted.term).toBeGreaterThan(term);
      term = won.promoted.term;
      expect(left.filter((each) => each.untaken("promoted").length > 0)).toEqual([]);
      left = left.filter((each) => each !== won.participant);
      await won.participant.kill();
    }
    expect((await left[0]?.promoted(group))?.term).toBeGreaterThan(term);
  });

  it("a leader that loses its NATS connection stops before another leads, and follows when it is back", async () => {
    const group = "cut-off";
    await using proxy = await FaultProxy.open({ host: "127.0.0.1", port: engine.ports[0] ?? 0 });
    const store = engine.url.replace(`:${engine.ports[0]}/`, `:${proxy.port}/`);
    const [leader, follower] = await Promise.all([launch("cut", { store }), launch("straight")]);
    await leader.start(group);
    const led = await leader.promoted(group);
    await follower.start(group);
    proxy.cut();
    const [demoted, taken] = await Promise.all([leader.next("demoted"), follower.promoted(group)]);
    expect(demoted.reason).toBe("lapsed");
    expect(demoted.atMs).toBeLessThan(taken.atMs);
    expect(taken.term).toBeGreaterThan(led.term);
    expect(leader.untaken("failure").length).toBeGreaterThan(0);
    proxy.mend();
    // It learns of the new leader only over its own connection.
    follower.order({ kind: "stop", group });
    expect((await leader.promoted(group)).term).toBeGreaterThan(taken.term);
  });

  it("elections continue after a restart of the NATS server, with one leader at a time and rising terms", async () => {
    const group = "restarted";
    const all = await many(3);
    await Promise.all(all.map((each) => each.start(group)));
    const before = await firstPromoted(all, group);
    const [node] = engine.nodes;
    await node?.kill();
    // Longer than the lease: its leader has to stop, and no node can win.
    await before.participant.next("demoted");
    await sleep(systemClock, TTL_MS);
    expect(all.flatMap((each) => each.untaken("promoted"))).toEqual([]);
    await node?.start();
    const after = await firstPromoted(all, group);
    expect(after.promoted.term).toBeGreaterThan(before.promoted.term);
    expect(all.flatMap((each) => each.untaken("promoted"))).toEqual([]);
  });

  it("a graceful shutdown over NATS hands over without waiting for the lease to end", async () => {
    const group = "shut-down";
    const [leader, follower] = await Promise.all([
      launch("first", { ttlMs: LONG_TTL_MS }),
      launch("second", { ttlMs: LONG_TTL_MS }),
    ]);
    await leader.start(group);
    const led = await leader.promoted(group);
    await follower.start(group);
    leader.order({ kind: "stop", group });
    const [{ atMs }, taken] = await Promise.all([leader.next("stopping"), follower.promoted(group)]);
    console.log(`handed over in ${(taken.atMs - atMs).toFixed(1)} ms`);
    expect(taken.term).toBeGreaterThan(led.term);
    expect(taken.atMs - atMs).toBeLessThan(LONG_TTL_MS / 10);
    expect(await leader.close()).toBe(0);
    expect(await follower.close()).toBe(0);
  });

  it(`${FOLLOWERS} followers send less than two requests each after their leader has crashed`, async () => {
    const herd = { store: engine.urlOf("herd"), ttlMs: HERD_TTL_MS };
    const leader = await launch("leader", herd);
    await leader.start("herd");
    await leader.promoted("herd");
    const crowd = await Promise.all(
      Array.from({ length: HERD_PROCESSES }, (_, index) => launch(`crowd-${index}`, herd)),
    );
    await Promise.all(
      crowd.map(async (each) => {
        for (let index = 0; index < HERD_EACH; index++) await each.start("herd", `${each.nodeId}-${index}`);
      }),
    );
    // A candidate that was refused at once has begun to wait.
    await sleep(systemClock, HERD_TTL_MS / 3);
    const before = await counted(crowd);
    await leader.kill();
    await firstPromoted(crowd, "herd");
    // What the others do when they learn of it.
    await sleep(systemClock, HERD_TTL_MS);
    const after = await counted(crowd);
    const asked = (kind: "campaigns" | "writes" | "syncs") => (after[kind] - before[kind]) / FOLLOWERS;
    const told = `per follower: ${asked("campaigns")} campaigns, ${asked("writes")} writes, ${asked("syncs")} syncs`;
    console.log(`${told}; ${crowd.flatMap((each) => each.untaken("failure")).length} failures`);
    expect(asked("campaigns"), told).toBeLessThan(2);
    expect(asked("writes"), told).toBeLessThan(2);
    expect(crowd.flatMap((each) => each.untaken("promoted"))).toEqual([]);
  });
});

/** The first participant to be promoted; messages of others are kept for later. */
async function firstPromoted(
  candidates: readonly Participant[],
  group: string,
): Promise<{ readonly participant: Participant; readonly promoted: Promoted }> {
  const enough = new AbortController();
  const first = Promise.any(
    candidates.map(async (participant) => {
      const promoted = await participant.next("promoted", (told) => told.group === group, enough.signal);
      return { participant, promoted };
    }),
  );
  return first.finally(() => enough.abort(new Error("another was first")));
}

type Counts = Record<"campaigns" | "writes" | "syncs", number>;

async function counted(crowd: readonly Participant[]): Promise<Counts> {
  const sum: Counts = { campaigns: 0, writes: 0, syncs: 0 };
  for (const each of crowd) {
    each.order({ kind: "count" });
    const { campaigns, writes, syncs } = await each.next("count");
    sum.campaigns += campaigns;
    sum.writes += writes;
    sum.syncs += syncs;
  }
  return sum;
}
