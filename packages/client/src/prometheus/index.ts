/** Metrics of elections and of role managers in the program's own prom-client, on which this package does not depend. */
export { prometheusMetrics } from "./prometheus-metrics.js";
export { prometheusRoleMetrics } from "./prometheus-role-metrics.js";
