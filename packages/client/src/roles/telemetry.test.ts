/** Loggers and metrics that fail must not change who leads a role. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { SILENT } from "../election/telemetry.js";
import { NO_ROLE_METRICS, type RoleMetrics } from "./state.js";
import { plainRoles, World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

const broken = (): never => {
  throw new Error("broken telemetry");
};
const brokenMetrics = Object.fromEntries(
  Object.keys(NO_ROLE_METRICS).map((name) => [name, broken]),
) as unknown as RoleMetrics;

test("a role manager leads, releases and reports its roles although roleMetrics throws each time", async () => {
  const lines: string[] = [];
  const logger = { ...SILENT, error: (_fields: object, text: string) => void lines.push(text) };
  const a = world.participant("a", { roles: plainRoles(3), roleMetrics: brokenMetrics, logger });
  await world.until(a.manager.start());
  await world.clock.advance(500);
  expect(a.manager.led()).toHaveLength(3);
  expect(lines).toEqual(["roleMetrics failed"]);
  await world.until(a.manager.stop());
  expect(a.log.filter((line) => line.startsWith("demote"))).toHaveLength(3);
});

test("a role manager that becomes unhealthy gives its roles up although its logger throws each time", async () => {
  let healthy = true;
  const logger = { debug: broken, info: broken, warn: broken, error: broken };
  const a = world.participant("a", { roles: plainRoles(2), logger, healthChecker: () => healthy });
  const b = world.participant("b", { roles: plainRoles(2) });
  await world.until(a.manager.start());
  await world.until(b.manager.start());
  expect(a.manager.led()).toHaveLength(2);
  healthy = false;
  await world.clock.advance(500);
  expect([a.manager.led(), b.manager.led()].map((roles) => roles.length)).toEqual([0, 2]);
  expect(a.log.filter((line) => line.startsWith("demote"))).toHaveLength(2);
});
