/** Gauges about the groups and about what needs attention. Each is read from counts that the monitor keeps up to date. */
import { type Finding, FINDING_KINDS, SEVERITIES } from "@tenure/api";
import type { Clock } from "@tenure/core";
import { Gauge, type Registry } from "prom-client";
import type { AttentionList } from "../attention/attention-list.js";
import type { GroupMonitor } from "../attention/group-monitor.js";

/** Groups with series of their own, vacant groups first. */
const MAX_PRESENCES = 1000;
/** Findings with series of their own, the most severe first. */
const MAX_FINDINGS = 100;

export interface AttentionMetricsDeps {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly groups: GroupMonitor;
  readonly attention: AttentionList;
}

export function registerAttentionMetrics({ registry, clock, groups, attention }: AttentionMetricsDeps): void {
  const gauge = <L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    collect: (gauge: Gauge<L>) => void,
  ): void => {
    const made: Gauge<L> = new Gauge<L>({
      name,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      collect: () => {
        made.reset();
        collect(made);
      },
    });
  };
  gauge(
    "tenure_groups",
    "Groups by state: led, vacant, held_back and idle add up to all groups. Groups that are paused or flapping are counted a second time in that state.",
    ["state"],
    (made) => {
      for (const [state, count] of Object.entries(groups.states)) made.set({ state }, count);
    },
  );
  gauge(
    "tenure_oldest_vacancy_seconds",
    "How long the group that has been vacant for the longest time has had no leader; 0 if no group is vacant.",
    [],
    (made) => {
      const sinceMs = groups.oldestVacancySinceMs;
      made.set(sinceMs === null ? 0 : Math.max(0, clock.wallMs() - sinceMs) / 1000);
    },
  );
  gauge(
    "tenure_group_has_leader",
    `1 if the group has a leader that may renew, else 0. Of more than ${MAX_PRESENCES} groups, vacant groups come first.`,
    ["group_id"],
    (made) => {
      let left = MAX_PRESENCES;
      for (const [group_id, isLed] of groups.presence()) {
        if (left-- === 0) return;
        made.set({ group_id }, isLed ? 1 : 0);
      }
    },
  );
  gauge("tenure_members", "Members of all groups: nodes that were seen in the last 30 seconds.", [], (made) =>
    made.set(groups.members),
  );
  gauge(
    "tenure_attention",
    "Findings of the attention list (GET /v1/attention), by kind and severity.",
    ["kind", "severity"],
    (made) => {
      for (const kind of FINDING_KINDS)
        for (const severity of SEVERITIES) made.set({ kind, severity }, attention.countOf(kind, severity));
    },
  );
  gauge(
    "tenure_group_attention",
    `1 for each finding about a group. Of more than ${MAX_FINDINGS}, the most severe findings.`,
    ["group_id", "kind", "severity"],
    (made) => {
      const { findings } = attention.list(MAX_FINDINGS, isSevere);
      for (const { groupId, kind, severity } of findings)
        if (groupId !== null) made.set({ group_id: groupId, kind, severity }, 1);
    },
  );
  gauge(
    "tenure_certificate_expiry_seconds",
    "Time until the server's TLS certificate expires; negative once it has expired. Only with TLS.",
    [],
    (made) => {
      const { certificate } = attention;
      if (certificate !== null) made.set((certificate.untilMs - clock.wallMs()) / 1000);
    },
  );
}

/** Notes have no series of their own: a group without a standby is common. */
function isSevere({ severity }: Finding): boolean {
  return severity !== "note";
}
