/** Several processes that share their roles, in virtual time. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Participant, type ParticipantOptions, plainRoles, World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

const COUNT = 60;

function join(nodeId: string, options: ParticipantOptions = {}, weight = 1): Participant {
  const spread = { group: "team", maxMembers: 4, weight };
  return world.participant(nodeId, { roles: plainRoles(COUNT), spread, ...options });
}

const load = ({ manager }: Participant) => manager.led().length;
const promotions = (...all: Participant[]) =>
  all.reduce((sum, { log }) => sum + log.filter((each) => each.startsWith("promote")).length, 0);

async function settle(...all: Participant[]): Promise<void> {
  for (const { manager } of all) void manager.start();
  await world.clock.advance(3000);
}

test("processes that start together share the roles evenly", async () => {
  const all = [join("a"), join("b"), join("c")];
  await settle(...all);
  expect(all.map(load)).toEqual([20, 20, 20]);
  expect(all[0]?.manager.status()).toMatchObject({
    share: 20,
    led: 20,
    members: [{ nodeId: "a" }, { nodeId: "b" }, { nodeId: "c" }],
  });
});

test("a process that joins gets its share, and no more roles move than that", async () => {
  const three = [join("a"), join("b"), join("c")];
  await settle(...three);
  const before = promotions(...three);
  const d = join("d");
  await settle(d);
  expect([...three, d].map(load)).toEqual([15, 15, 15, 15]);
  expect(promotions(...three, d) - before).toBe(15);
  const reasons = three.flatMap(({ log }) => log.filter((each) => each.startsWith("demote")));
  expect(new Set(reasons.map((each) => each.split(" ")[2]))).toEqual(new Set(["rebalanced"]));
});

test("the roles of a killed process are led again as soon as its leases are over, shared by the others", async () => {
  const [a, b, c] = [join("a"), join("b"), join("c")] as const;
  await settle(a, b, c);
  const before = promotions(a, b);
  c.clock.kill();
  await world.clock.advance(1010 + 30);
  expect([load(a), load(b)]).toEqual([30, 30]);
  expect(promotions(a, b) - before).toBe(20);
});

test("a process that stops hands its roles over at once", async () => {
  const [a, b, c] = [join("a"), join("b"), join("c")] as const;
  await settle(a, b, c);
  await world.until(c.manager.stop());
  await world.clock.advance(30);
  expect([load(a), load(b)]).toEqual([30, 30]);
});

test("weights and maxRoles of each process are known to all", async () => {
  const [a, b, c] = [join("a", {}, 3), join("b"), join("c", { maxRoles: 8 })] as const;
  await settle(a, b, c);
  expect([load(a), load(b), load(c)]).toEqual([39, 13, 8]);
  c.clock.kill();
  await world.clock.advance(2000);
  expect([load(a), load(b)]).toEqual([45, 15]);
});

test("a process that finds no free member lease takes no role until one is free", async () => {
  const four = [join("a"), join("b"), join("c"), join("d")];
  await settle(...four);
  const e = join("e");
  await settle(e);
  expect(load(e)).toBe(0);
  await world.until((four[0] as Participant).manager.stop());
  await world.clock.advance(3000);
  expect([...four.slice(1), e].map(load)).toEqual([15, 15, 15, 15]);
});

test("a process that was paused loses its roles, and gets its share again", async () => {
  const [a, b] = [join("a"), join("b")] as const;
  await settle(a, b);
  a.clock.pause();
  await world.clock.advance(3000);
  expect(load(b)).toBe(60);
  a.clock.resume();
  expect(load(a)).toBe(0);
  await world.clock.advance(3000);
  expect([load(a), load(b)]).toEqual([30, 30]);
});

test("roles that one process may not lead are led by another, and do not move back and forth", async () => {
  const [a, b] = [join("a"), join("b")] as const;
  for (let index = 0; index < 5; index++) {
    await world.until(a.elector.createGroup({ groupId: `r${index}`, allowedNodes: ["a"] }));
  }
  await settle(a, b);
  await world.clock.advance(10_000);
  expect(load(a) + load(b)).toBe(COUNT);
  expect(Math.abs(load(a) - load(b))).toBeLessThanOrEqual(10);
  const before = promotions(a, b);
  await world.clock.advance(20_000);
  expect(promotions(a, b) - before).toBe(0);
});

test("units of several roles stay together and are spread by their size", async () => {
  const roles = Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => [
      [`u${index}-a`, {}],
      [`u${index}-b`, { dependsOn: [`u${index}-a`] }],
    ]).flat() as [string, object][],
  );
  const [a, b] = [join("a", { roles }), join("b", { roles })] as const;
  await settle(a, b);
  expect([load(a), load(b)]).toEqual([12, 12]);
  for (const { manager } of [a, b]) {
    const units = manager.led().map((name) => name.split("-")[0]);
    expect(new Set(units).size).toBe(6);
  }
});
