/** Opens what watches over groups, store and certificate, and what shows it: the attention list and its metrics. */
import type { Validity } from "@tenure/api";
import { type Clock, sleep, type StoreElector } from "@tenure/core";
import { registerAttentionMetrics } from "../metrics/attention-metrics.js";
import type { ServiceMetrics } from "../metrics/service-metrics.js";
import { AttentionList } from "./attention-list.js";
import type { FindingListener } from "./finding-changes.js";
import { GroupMonitor } from "./group-monitor.js";
import type { Activity } from "../samples/activity.js";
import type { Webhooks } from "../webhooks/webhooks.js";
import type { StoreMonitor } from "./store-monitor.js";

export interface AttentionDeps {
  readonly elector: StoreElector;
  readonly clock: Clock;
  readonly metrics: ServiceMetrics;
  readonly store: StoreMonitor;
  readonly certificate: () => Validity | null;
  readonly webhooks: Webhooks;
  readonly activity: Activity;
  /** Ends it. */
  readonly signal: AbortSignal;
}

const RETRY_MS = 1000;

export function openAttention({
  elector,
  clock,
  metrics,
  store,
  certificate,
  webhooks,
  activity,
  signal,
}: AttentionDeps): AttentionList {
  const onFinding: FindingListener = (finding, change) => webhooks.found(finding, change);
  const groups = new GroupMonitor({
    clock,
    inspector: elector.inspector,
    onChange: (event, change) => {
      metrics.observeChange(event, change);
      activity.leaderChanged(change);
      webhooks.changed(event);
    },
    onFinding,
  });
  const attention = new AttentionList({ clock, groups, store, certificate, onFinding });
  registerAttentionMetrics({ registry: metrics.registry, clock, groups, attention });
  groups.start();
  attention.start();
  void follow(elector, groups, signal, clock).finally(() => {
    groups.close();
    attention.close();
  });
  void store.watch(() => elector.ping({ signal }), signal);
  return attention;
}

/** Takes every event of every group, so that all servers of a store count the same. */
async function follow(
  elector: StoreElector,
  groups: GroupMonitor,
  signal: AbortSignal,
  clock: Clock,
): Promise<void> {
  // From the beginning: the present state then arrives as RESYNC, and is not counted as a change of every group.
  let cursor = 0;
  while (!signal.aborted) {
    try {
      for await (const event of elector.watchAll({ signal, cursor })) {
        // If the watch breaks within the states, all of them are needed again.
        if (event.partial !== true) cursor = event.cursor;
        groups.follow(event);
      }
    } catch {
      await sleep(clock, RETRY_MS, signal).catch(() => {});
    }
  }
}
