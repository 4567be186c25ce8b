/** One health check decides for all roles of a process. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { RoleEvent } from "./state.js";
import { type Participant, type ParticipantOptions, plainRoles, World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

/** A process whose health the test sets. */
function patient(
  nodeId: string,
  options: ParticipantOptions,
): Participant & { healthy: boolean; asked: number } {
  const health = { healthy: true, asked: 0 };
  const healthChecker = () => {
    health.asked += 1;
    return health.healthy;
  };
  return Object.assign(health, world.participant(nodeId, { healthChecker, ...options }));
}

const demotions = ({ log }: Participant) => log.filter((line) => line.startsWith("demote"));

describe("a role manager with a health check", () => {
  test("a role manager resigns all roles while it is unhealthy, and leads them again when it is healthy", async () => {
    const a = patient("a", { roles: plainRoles(3) });
    const b = world.participant("b", { roles: plainRoles(3) });
    await world.until(a.manager.start());
    await world.until(b.manager.start());
    expect(a.manager.led()).toHaveLength(3);
    a.healthy = false;
    await world.clock.advance(300);
    expect(a.manager.led()).toEqual([]);
    expect(b.manager.led()).toHaveLength(3);
    expect(demotions(a).toSorted()).toEqual([
      "demote r0 unhealthy",
      "demote r1 unhealthy",
      "demote r2 unhealthy",
    ]);
    await world.until(b.manager.stop());
    await world.clock.advance(2000);
    expect(a.manager.led(), "it does not stand while it is unhealthy").toEqual([]);
    a.healthy = true;
    await world.clock.advance(300);
    expect(a.manager.led()).toHaveLength(3);
  });

  test("an unhealthy role manager ends dependent roles first, and every role ends as unhealthy", async () => {
    const roles = { base: {}, "on-top": { dependsOn: ["base"] }, x: { set: "pair" }, y: { set: "pair" } };
    const a = patient("a", { roles });
    await world.until(a.manager.start());
    await world.clock.advance(500);
    expect(a.manager.led()).toHaveLength(4);
    a.healthy = false;
    await world.clock.advance(300);
    expect(demotions(a).toSorted()).toEqual(
      ["base", "on-top", "x", "y"].map((role) => `demote ${role} unhealthy`),
    );
    expect(a.log.indexOf("demote on-top unhealthy")).toBeLessThan(a.log.indexOf("demote base unhealthy"));
  });

  test("the health check runs once per heartbeat for all roles together", async () => {
    const a = patient("a", { roles: plainRoles(50) });
    await world.until(a.manager.start());
    const before = a.asked;
    await world.clock.advance(2000);
    expect(a.asked - before).toBe(10);
  });

  test("a role manager keeps its roles until maxHealthFailures checks in a row have failed", async () => {
    const a = patient("a", { roles: plainRoles(2), maxHealthFailures: 3 });
    await world.until(a.manager.start());
    a.healthy = false;
    await world.clock.advance(400);
    expect(a.manager.led()).toHaveLength(2);
    await world.clock.advance(250);
    expect(a.manager.led()).toEqual([]);
  });

  test("a role manager that is unhealthy from the beginning lets start resolve without a campaign", async () => {
    const a = patient("a", { roles: plainRoles(2) });
    a.healthy = false;
    const events: RoleEvent[] = [];
    void (async () => {
      for await (const event of a.manager.changes()) events.push(event);
    })();
    await world.until(a.manager.start());
    expect(a.manager.status()).toMatchObject({ state: "unhealthy", led: 0 });
    expect(await world.leaders(["r0", "r1"])).toEqual(
      new Map([
        ["r0", null],
        ["r1", null],
      ]),
    );
    a.healthy = true;
    await world.clock.advance(500);
    expect(a.manager.status()).toMatchObject({ state: "running", led: 2 });
    expect(events.filter(({ kind }) => kind === "health")).toEqual([
      { kind: "health", healthy: false },
      { kind: "health", healthy: true },
    ]);
  });

  test("a health check that throws or times out counts as failed", async () => {
    const silent = world.participant("a", {
      roles: plainRoles(1),
      healthChecker: () => new Promise<boolean>(() => {}),
      healthTimeoutMs: 50,
    });
    const throwing = world.participant("b", {
      roles: plainRoles(1),
      healthChecker: () => {
        throw new Error("no database");
      },
    });
    await world.until(silent.manager.start());
    await world.until(throwing.manager.start());
    expect([silent.manager.status().state, throwing.manager.status().state]).toEqual([
      "unhealthy",
      "unhealthy",
    ]);
  });

  test("an unhealthy role manager leaves the spread group, and gets its share again afterwards", async () => {
    const shared = { roles: plainRoles(20), spread: { group: "team", maxMembers: 4 } };
    const [a, b] = [patient("a", shared), patient("b", shared)] as const;
    for (const { manager } of [a, b]) void manager.start();
    await world.clock.advance(3000);
    expect([a, b].map(({ manager }) => manager.led().length)).toEqual([10, 10]);
    a.healthy = false;
    await world.clock.advance(1000);
    expect([a, b].map(({ manager }) => manager.led().length)).toEqual([0, 20]);
    expect(b.manager.status().members).toMatchObject([{ nodeId: "b" }]);
    a.healthy = true;
    await world.clock.advance(3000);
    expect([a, b].map(({ manager }) => manager.led().length)).toEqual([10, 10]);
  });

  test("an unhealthy role manager can be stopped, even while its work is still ending", async () => {
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const a = patient("a", { roles: plainRoles(1), work: () => ended });
    await world.until(a.manager.start());
    a.healthy = false;
    await world.clock.advance(500);
    const stopped = a.manager.stop();
    await world.clock.advance(500);
    expect(a.manager.status().state).toBe("stopping");
    end();
    await world.until(stopped);
    expect(demotions(a)).toEqual(["demote r0 unhealthy"]);
  });
});
