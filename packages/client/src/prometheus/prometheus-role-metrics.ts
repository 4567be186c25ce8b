import type { RoleMetrics } from "../roles/state.js";
import { metricMaker, type PrometheusMetricsOptions } from "./prom-client.js";

/**
 * Metrics of role managers, for the option `roleMetrics`, in the registry of your own prom-client. The labels are `node` and, for
 * what was given up, `reason`: a thousand roles make no more series than one. Series of each role's election come by
 * `prometheusMetrics`, labelled by group.
 */
export function prometheusRoleMetrics(options: PrometheusMetricsOptions): RoleMetrics {
  const make = metricMaker(options, ["node"]);
  const { Gauge, Counter } = options.client;
  const led = make(Gauge, "election_roles_led", "Roles that this process leads");
  const share = make(Gauge, "election_roles_share", "Roles that fall to this process");
  const members = make(Gauge, "election_roles_members", "Processes that share the roles");
  const promotions = make(Counter, "election_role_promotions_total", "Leaderships of roles that began");
  const demotions = make(
    Counter,
    "election_role_demotions_total",
    "Leaderships of roles that ended, by reason",
    { labels: ["reason"] },
  );
  return {
    led: (node, count) => led.set({ node }, count),
    share: (node, count) => share.set({ node }, count),
    members: (node, count) => members.set({ node }, count),
    promoted: (node) => promotions.inc({ node }),
    demoted: (node, reason) => demotions.inc({ node, reason }),
  };
}
