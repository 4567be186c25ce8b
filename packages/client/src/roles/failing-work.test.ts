/** What happens to a role whose `onRolePromote` rejects. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SILENT } from "../election/telemetry.js";
import { NO_ROLE_METRICS, type RoleEvent } from "./state.js";
import { type Participant, type ParticipantOptions, plainRoles, World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

const NO_DATABASE = new Error("no database");

/** A process whose work in these roles fails at once while `isBroken`. */
function failing(
  nodeId: string,
  broken: readonly string[],
  options: ParticipantOptions,
): Participant & { isBroken: boolean; promotedAtMs: number[] } {
  const state = { isBroken: true, promotedAtMs: [] as number[] };
  const work = async (role: string) => {
    if (!broken.includes(role)) return;
    state.promotedAtMs.push(world.clock.monotonicMs());
    if (state.isBroken) throw NO_DATABASE;
  };
  return Object.assign(state, world.participant(nodeId, { work, ...options }));
}

/** Work that ends with its signal, or fails when the test says so. */
function fallible(): { readonly work: (signal: AbortSignal) => Promise<void>; fail: () => void } {
  const state = {
    fail: (): void => {},
    work: (signal: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        signal.addEventListener("abort", () => resolve());
        state.fail = () => reject(NO_DATABASE);
      }),
  };
  return state;
}

const demotions = ({ log }: Participant) => log.filter((line) => line.startsWith("demote"));

describe("A role whose onRolePromote rejects", () => {
  test("a role whose onRolePromote rejects is resigned as promote-failed, so that another process leads it, and other roles stay", async () => {
    const a = failing("a", ["r0"], { roles: plainRoles(2) });
    const b = world.participant("b", { roles: plainRoles(2) });
    await world.until(a.manager.start());
    await world.until(b.manager.start());
    await world.clock.advance(6000);
    expect(demotions(a)).toContain("demote r0 promote-failed");
    expect(b.manager.led()).toEqual(["r0"]);
    expect(a.manager.led()).toEqual(["r1"]);
  });

  test("a role whose onRolePromote rejects is campaigned for again after a backoff that grows by the retry options", async () => {
    const retry = { initialBackoffMs: 100, maxBackoffMs: 800, jitter: 0 };
    const a = failing("a", ["r0"], { roles: plainRoles(1), retry });
    await world.until(a.manager.start());
    await world.clock.advance(5000);
    const pauses = a.promotedAtMs.slice(1).map((atMs, index) => atMs - (a.promotedAtMs[index] ?? 0));
    // A plan is made at most every 5 ms.
    expect(pauses.slice(0, 5).map((ms) => Math.floor(ms / 50) * 50)).toEqual([100, 200, 400, 800, 800]);
    a.isBroken = false;
    await world.clock.advance(1000);
    expect(a.manager.led()).toEqual(["r0"]);
  });

  test("a role that was led for longer than the longest backoff is tried again after the first backoff", async () => {
    const retry = { initialBackoffMs: 100, maxBackoffMs: 400, jitter: 0 };
    const task = fallible();
    const promotedAtMs: number[] = [];
    const work = (_role: string, signal: AbortSignal) => {
      promotedAtMs.push(world.clock.monotonicMs());
      return task.work(signal);
    };
    const a = world.participant("a", { roles: plainRoles(1), retry, work });
    await world.until(a.manager.start());
    for (const ledMs of [10, 10, 10, 500]) {
      await world.clock.advance(ledMs);
      task.fail();
      await world.clock.advance(450);
    }
    expect(promotedAtMs).toHaveLength(5);
    const failedAtMs = (promotedAtMs[3] ?? 0) + 500;
    expect((promotedAtMs[4] ?? 0) - failedAtMs).toBeLessThan(200);
  });

  test("a rejected onRolePromote is reported with its error in an event, the log, the status and the metrics", async () => {
    const events: RoleEvent[] = [];
    const lines: unknown[] = [];
    const reasons: string[] = [];
    const logger = {
      ...SILENT,
      error: (fields: object, text: string) => void lines.push([text, fields]),
      warn: (fields: object, text: string) => void lines.push([text, fields]),
    };
    const roleMetrics = { ...NO_ROLE_METRICS, demoted: (_node: string, why: string) => reasons.push(why) };
    const a = failing("a", ["r0"], { roles: plainRoles(1), logger, roleMetrics, retry: { jitter: 0 } });
    void (async () => {
      for await (const event of a.manager.changes()) events.push(event);
    })();
    await world.until(a.manager.start());
    await world.clock.advance(20);
    expect(events).toMatchObject([
      { kind: "role-promoted", role: "r0" },
      { kind: "hook-failed", role: "r0", hook: "onRolePromote", error: NO_DATABASE },
      { kind: "role-demoted", role: "r0", reason: "promote-failed" },
    ]);
    expect(lines).toMatchObject([
      ["hook failed", { role: "r0", hook: "onRolePromote", err: NO_DATABASE }],
      ["gave the role up because onRolePromote failed", { role: "r0" }],
    ]);
    expect(a.manager.status().roles).toMatchObject([{ role: "r0", isLeader: false, error: NO_DATABASE }]);
    expect(reasons).toEqual(["promote-failed"]);
    a.isBroken = false;
    await world.clock.advance(500);
    expect(a.manager.status().roles).toMatchObject([{ role: "r0", isLeader: true, error: null }]);
  });

  test('a role whose onRolePromote rejects stays led with onPromoteFailure "keep", and the failure is reported', async () => {
    const a = failing("a", ["r0"], { roles: plainRoles(1), onPromoteFailure: "keep" });
    const events: string[] = [];
    void (async () => {
      for await (const { kind } of a.manager.changes()) events.push(kind);
    })();
    await world.until(a.manager.start());
    await world.clock.advance(5000);
    expect(a.manager.led()).toEqual(["r0"]);
    expect(events).toEqual(["role-promoted", "hook-failed"]);
  });

  test("a failed role ends its dependent roles first, and the roles that it depends on stay", async () => {
    const roles = { base: {}, middle: { dependsOn: ["base"] }, top: { dependsOn: ["middle"] } };
    const task = fallible();
    const work = (role: string, signal: AbortSignal) =>
      role === "middle" ? task.work(signal) : Promise.resolve();
    const a = world.participant("a", { roles, work, retry: { initialBackoffMs: 500, jitter: 0 } });
    await world.until(a.manager.start());
    expect(a.manager.led()).toEqual(["base", "middle", "top"]);
    task.fail();
    await world.clock.advance(20);
    expect(a.manager.led()).toEqual(["base"]);
    expect(demotions(a)).toEqual(["demote top dependency-lost", "demote middle promote-failed"]);
    await world.clock.advance(600);
    expect(a.manager.led()).toEqual(["base", "middle", "top"]);
  });

  test("a failed role ends its whole set, and no role of the set is held during the backoff", async () => {
    const roles = { x: { set: "pair" }, y: { set: "pair" } };
    const retry = { initialBackoffMs: 3000, jitter: 0 };
    const a = failing("a", ["y"], { roles, retry });
    await world.until(a.manager.start());
    await world.clock.advance(50);
    expect(demotions(a).toSorted()).toEqual(["demote x set-lost", "demote y promote-failed"]);
    expect(await world.leaders(["x", "y"])).toEqual(
      new Map([
        ["x", null],
        ["y", null],
      ]),
    );
    const b = world.participant("b", { roles });
    await world.until(b.manager.start());
    await world.clock.advance(10);
    expect(b.manager.led()).toEqual(["x", "y"]);
    await world.until(b.manager.stop());
    a.isBroken = false;
    await world.clock.advance(4000);
    expect(a.manager.led(), "the set is tried again without any news").toEqual(["x", "y"]);
  });

  test("a failed role moves to another process that shares the roles, and stays there", async () => {
    const roles = plainRoles(10);
    const spread = { group: "team", maxMembers: 2 };
    const all = Object.keys(roles);
    // Its backoff is shorter than the time for which the others leave a role to it.
    const a = failing("a", all, { roles, spread, retry: { initialBackoffMs: 50, maxBackoffMs: 200 } });
    const b = world.participant("b", { roles, spread });
    void a.manager.start();
    void b.manager.start();
    await world.clock.advance(20_000);
    const tried = a.promotedAtMs.length;
    expect(b.manager.led()).toHaveLength(10);
    await world.clock.advance(20_000);
    expect(b.manager.led()).toHaveLength(10);
    expect(a.promotedAtMs.length - tried).toBe(0);
  });

  test("a role whose work ends because of its signal has not failed", async () => {
    const a = world.participant("a", {
      roles: plainRoles(1),
      work: (_role, signal) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
    });
    const kinds: string[] = [];
    void (async () => {
      for await (const { kind } of a.manager.changes()) kinds.push(kind);
    })();
    await world.until(a.manager.start());
    await world.until(a.manager.stop());
    await world.clock.advance(1);
    expect(demotions(a)).toEqual(["demote r0 stopped"]);
    expect(kinds).not.toContain("hook-failed");
  });
});
