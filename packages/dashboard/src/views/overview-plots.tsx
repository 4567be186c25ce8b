import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Sampler } from "../live/sampler.js";
import type { Quantity } from "../model/scale.js";
import type { Sample } from "../model/wire.js";
import { LinePlot } from "./line-plot.js";
import { sentence } from "./sign-in.js";

interface Plot {
  readonly title: string;
  readonly note: string;
  readonly quantity: Quantity;
  readonly lines: readonly (readonly [string, Exclude<keyof Sample, "ts_ms">])[];
}

const PLOTS: readonly Plot[] = [
  {
    title: "Groups",
    note: "Groups that have a leader, and groups that lack the leader that they should have.",
    quantity: "count",
    lines: [
      ["led", "led"],
      ["vacant", "vacant"],
    ],
  },
  {
    title: "Leader changes",
    note: "New leaders of all groups, per minute.",
    quantity: "rate",
    lines: [["per minute", "leader_changes_per_min"]],
  },
  {
    title: "Failover time",
    note: "From the last renewal of the old leader to the new leader: for this long the work may have stood still.",
    quantity: "ms",
    lines: [
      ["median", "failover_p50_ms"],
      ["longest", "failover_max_ms"],
    ],
  },
  {
    title: "Renewals",
    note: "Leases renewed by this server per second; each lease of a batch counts.",
    quantity: "rate",
    lines: [["per second", "renewals_per_s"]],
  },
  {
    title: "Request latency",
    note: "From the arrival of a request to its response at this server, without those that wait; accurate to 2 %.",
    quantity: "ms",
    lines: [
      ["p50", "request_p50_ms"],
      ["p99", "request_p99_ms"],
    ],
  },
  {
    title: "Watches and waiting campaigns",
    note: "Open at this server now, including the watch of this page.",
    quantity: "count",
    lines: [
      ["watches", "watches"],
      ["waiting campaigns", "waiting"],
    ],
  },
  {
    title: "Event loop delay",
    note: "How late this server runs its timers: a busy server answers late.",
    quantity: "ms",
    lines: [["longest", "event_loop_ms"]],
  },
  {
    title: "Memory",
    note: "Resident memory of this server.",
    quantity: "bytes",
    lines: [["used", "memory_bytes"]],
  },
];

/** The last hour of this server, as far as it ran. */
export function OverviewPlots({ sampler }: { sampler: Sampler }): JSX.Element {
  const { samples, intervalMs, refusal } = sampler;
  const { times, plots } = useMemo(
    () => ({
      times: samples.map(({ ts_ms }) => ts_ms),
      plots: PLOTS.map(({ lines, ...plot }) => ({
        ...plot,
        lines: lines.map(([name, key]) => ({ name, values: samples.map((sample) => sample[key]) })),
      })),
    }),
    [samples],
  );
  if (samples.length === 0 && refusal !== null) {
    return <p class="banner warn">Charts are not available: {sentence(refusal)}</p>;
  }
  return (
    <div class="plots">
      {plots.map((plot) => (
        <LinePlot key={plot.title} times={times} joinedMs={intervalMs * 2.5} {...plot} />
      ))}
    </div>
  );
}
