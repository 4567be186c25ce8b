import client from "prom-client";
import { describe, expect, test } from "vitest";
import { plainRoles, World } from "../roles/world.test-kit.js";
import { prometheusMetrics } from "./prometheus-metrics.js";
import { prometheusRoleMetrics } from "./prometheus-role-metrics.js";

const SERIES = [
  "election_roles_led",
  "election_roles_share",
  "election_roles_members",
  "election_role_promotions_total",
  "election_role_demotions_total",
];

/** The value of one series, by its labels in the text format. */
async function valueOf(registry: client.Registry, series: string): Promise<number | undefined> {
  const line = (await registry.metrics()).split("\n").find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.split(" ").at(-1));
}

describe("prometheusRoleMetrics", () => {
  test("prometheusRoleMetrics shows how many roles a process leads, and why it gave others up", async () => {
    const registry = new client.Registry();
    const world = new World();
    let healthy = true;
    const { manager } = world.participant("a", {
      roles: plainRoles(2),
      healthChecker: () => healthy,
      roleMetrics: prometheusRoleMetrics({ client, registry }),
    });
    await world.until(manager.start());
    expect(await valueOf(registry, 'election_roles_led{node="a"}')).toBe(2);
    expect(await valueOf(registry, 'election_roles_share{node="a"}')).toBe(2);
    expect(await valueOf(registry, 'election_role_promotions_total{node="a"}')).toBe(2);
    healthy = false;
    await world.clock.advance(300);
    expect(await valueOf(registry, 'election_roles_led{node="a"}')).toBe(0);
    expect(await valueOf(registry, 'election_role_demotions_total{node="a",reason="unhealthy"}')).toBe(2);
    await world.close();
  });

  test("prometheusRoleMetrics creates each series once per registry, with labels that do not grow with the roles", () => {
    const registry = new client.Registry();
    const [first] = [
      prometheusRoleMetrics({ client, registry }),
      prometheusRoleMetrics({ client, registry }),
    ];
    prometheusMetrics({ client, registry });
    first.demoted("a", "rebalanced");
    for (const name of SERIES) {
      const { labelNames } = registry.getSingleMetric(name) as unknown as { labelNames: string[] };
      expect(labelNames).toEqual(name.includes("demotions") ? ["node", "reason"] : ["node"]);
    }
  });

  test("prometheusRoleMetrics refuses a client that is not prom-client, and unknown options by name", () => {
    expect(() => prometheusRoleMetrics({ client: {} } as never)).toThrow(
      "client must be the module of prom-client",
    );
    expect(() => prometheusRoleMetrics({ client, prefix: "x" } as never)).toThrow("prefix is not known here");
  });
});
