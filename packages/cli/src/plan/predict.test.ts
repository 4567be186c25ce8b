/** The plan against real elections: whatever happens in virtual time lies within what it predicts. */
import { Random } from "@tenure/core/testing";
import { describe, expect, test } from "vitest";
import { type Node, PlanWorld } from "./plan-world.test-kit.js";
import { type Plan, type PlanInput, predict } from "./predict.js";

const BASE: PlanInput = {
  ttlMs: 10_000,
  rttMs: 30,
  writeMs: 5,
  groups: 1,
  nodes: 2,
  servers: 1,
  takeoverDelayMs: 0,
};

/** Two nodes, of which `leader` leads and `waiting` waits, at a random moment between two heartbeats. */
async function inOrder(world: PlanWorld, { ttlMs }: PlanInput): Promise<{ leader: Node; waiting: Node }> {
  const leader = world.start("a");
  expect(await world.until(() => leader.election.isLeader(), 4 * ttlMs)).toBe(true);
  const waiting = world.start("b");
  await world.clock.advance(ttlMs + world.random.next() * ttlMs);
  expect(leader.election.isLeader()).toBe(true);
  return { leader, waiting };
}

/** Draws what a plan is made for; the network and the store are fast enough for the ttl. */
function drawn(seed: number): { input: PlanInput; plan: Plan } {
  const random = new Random(seed);
  for (;;) {
    const ttlMs = Math.round(random.pick([600, 1000, 2000, 5000, 10_000, 30_000]) * random.between(0.9, 1.1));
    const rttMs = Math.round(random.next() * Math.min(300, ttlMs / 15));
    const writeMs = Math.round(random.next() * Math.min(60, ttlMs / 30));
    const input = { ...BASE, ttlMs, rttMs, writeMs, servers: random.pick([0, 1, 2]) };
    const plan = predict(input);
    if (plan.outage.alwaysMs > 0) return { input, plan };
  }
}

const SEEDS = Array.from({ length: 25 }, (_, index) => index + 1);

describe("a plan", () => {
  test.each(SEEDS)("a plan brackets the failover after a crash and after a stop, seed %i", async (seed) => {
    const { input, plan } = drawn(seed);
    for (const end of ["crash", "stop"] as const) {
      const world = new PlanWorld(seed, input);
      const { leader, waiting } = await inOrder(world, input);
      const beganMs = world.clock.monotonicMs();
      if (end === "crash") leader.clock.kill();
      else void leader.election.stop();
      await world.until(() => waiting.wins.length > 0, 2 * plan.crash.worstMs);
      const tookMs = (waiting.wins[0]?.atMs ?? Number.NaN) - beganMs;
      const { bestMs, worstMs } = plan[end];
      expect.soft(tookMs, `${end} of ${JSON.stringify(input)}`).toBeGreaterThanOrEqual(bestMs - 1);
      expect.soft(tookMs, `${end} of ${JSON.stringify(input)}`).toBeLessThanOrEqual(worstMs + 1);
      world.end();
    }
  });

  test.each(SEEDS)(
    "a leader survives the failures that the plan names, and no longer ones, seed %i",
    async (seed) => {
      const { input, plan } = drawn(seed);
      for (const failure of ["pause", "outage"] as const) {
        for (const [lengthMs, survives] of [
          [plan[failure].alwaysMs, true],
          [plan[failure].neverMs, false],
        ] as const) {
          const world = new PlanWorld(seed, input);
          const { leader } = await inOrder(world, input);
          const term = leader.election.term();
          if (failure === "pause") {
            leader.clock.pause();
            await world.clock.advance(lengthMs);
            leader.clock.resume();
          } else {
            world.cut(lengthMs);
            await world.clock.advance(lengthMs);
          }
          await world.clock.advance(input.ttlMs);
          const isSame = leader.election.isLeader() && leader.election.term() === term;
          expect.soft(isSame, `${failure} of ${lengthMs} ms, ${JSON.stringify(input)}`).toBe(survives);
          world.end();
        }
      }
    },
  );

  test("a plan counts the renewals of leaders and the requests of waiting candidates", async () => {
    for (const ttlMs of [1000, 6000, 30_000]) {
      const input = { ...BASE, ttlMs };
      const world = new PlanWorld(1, input);
      await inOrder(world, input);
      Object.assign(world.sent, { renewals: 0, campaigns: 0 });
      await world.clock.advance(600_000);
      const { load } = predict(input);
      // One more or less is under way at the beginning and at the end.
      expect.soft(Math.abs(world.sent.renewals - 600 * load.renewalRequestsPerSecond)).toBeLessThanOrEqual(1);
      const waiting = 600 * load.waitingRequestsPerSecond;
      // Each campaign of 30 s ends with a wait that is shorter than the others.
      expect.soft(Math.abs(world.sent.campaigns / waiting - 1), `ttl ${ttlMs}`).toBeLessThan(0.1);
      world.end();
    }
  });

  test("a plan batches the renewals of one process, and counts what its rate limit counts", () => {
    const { load } = predict({ ...BASE, groups: 3000, nodes: 3, servers: 2 });
    expect(load).toMatchObject({
      renewalsPerSecond: 1500,
      renewalRequestsPerSecond: 1.5,
      waitingCampaigns: 6000,
      // A request of 1,000 renewals costs 251, every two seconds.
      costPerNodePerSecond: expect.closeTo(125.5 + 2000 / 2.53, 5) as number,
      // Besides a page of members for each group, server and ten seconds.
      storeRecordsPerSecond: 1500 + 600,
    });
  });

  test("a takeover delay prolongs the failover after a crash, and not after a stop", () => {
    const plain = predict(BASE);
    const delayed = predict({ ...BASE, takeoverDelayMs: 3000 });
    expect(delayed.crash.typicalMs - plain.crash.typicalMs).toBeCloseTo(3005);
    expect(delayed.stop).toEqual(plain.stop);
  });
});
