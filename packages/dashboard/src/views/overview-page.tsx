import type { JSX } from "preact";
import type { Dashboard } from "../live/dashboard.js";
import { grouped } from "../model/format.js";
import { filterRows } from "../model/row-filter.js";
import { GROUP_STATES } from "../model/group-row.js";
import type { Point } from "../model/overview-series.js";
import { LinePlot } from "./line-plot.js";
import { sentence } from "./sign-in.js";
import { StateBadge } from "./state-badge.js";

const rate = (value: number): string =>
  value >= 10 ? value.toFixed(0) : value.toFixed(1).replace(/\.0$/, "");
const millis = (value: number): string =>
  value >= 1000
    ? `${(value / 1000).toFixed(1)} s`
    : value >= 10 || value === 0
      ? `${value.toFixed(0)} ms`
      : `${value.toFixed(1)} ms`;

export function OverviewPage({ dashboard }: { dashboard: Dashboard }): JSX.Element {
  const { series, sampler, board } = dashboard;
  const { points } = series;
  const times = points.map(({ atMs }) => atMs);
  const line = (name: string, key: Exclude<keyof Point, "atMs">) => ({
    name,
    values: points.map((point) => point[key]),
  });
  const { counts, total } = filterRows(board, { text: "", state: null }, dashboard.shownMs());
  return (
    <section class="overview" aria-labelledby="overview-title">
      <h1 id="overview-title" tabIndex={-1}>
        Overview
      </h1>
      <div class="tally card" role="group" aria-label="Groups by state">
        <p class="tally-total">
          <b>{grouped(total)}</b> groups
        </p>
        <Proportions counts={GROUP_STATES.map((state) => counts[state])} total={total} />
        <ul>
          {GROUP_STATES.map((state) => (
            <li key={state}>
              <StateBadge state={state} /> <b>{grouped(counts[state])}</b>
            </li>
          ))}
        </ul>
      </div>
      {sampler.refusal !== null && <p class="banner warn">{sentence(sampler.refusal)}</p>}
      <div class="plots">
        <LinePlot
          times={times}
          title="Elections"
          note="New leaders of all groups in the last minute, counted while this page is open."
          lines={[line("per minute", "electionsPerMinute")]}
          format={rate}
        />
        <LinePlot
          times={times}
          title="Failover time"
          note="Time from the loss of a leader to the next leader, for elections of the last minute."
          lines={[line("p50", "failoverP50"), line("p99", "failoverP99")]}
          format={millis}
        />
        <LinePlot
          times={times}
          title="Renew latency"
          note="Time from the arrival of a renewal to its response at this server, in the last minute."
          lines={[line("p50", "renewP50"), line("p99", "renewP99")]}
          format={millis}
        />
        <LinePlot
          times={times}
          title="Renewals"
          note="Requests served by this server per second, over the last minute; a batch counts as one request."
          lines={[line("per second", "renewsPerSecond")]}
          format={rate}
        />
        <LinePlot
          times={times}
          title="Store"
          note={storeNote(sampler.store)}
          lines={[line("round trip", "storeMs")]}
          format={millis}
        />
        <LinePlot
          times={times}
          title="Open at this server"
          isWhole
          note="Open watches, including the one of this page, and waiting campaigns."
          lines={[line("watches", "openWatches"), line("waiting campaigns", "waitingCampaigns")]}
          format={rate}
        />
      </div>
      <p class="muted small">The charts start when this page is opened and show the last ten minutes.</p>
    </section>
  );
}

function storeNote(store: string): string {
  const health =
    store === "answers"
      ? "The store responds."
      : store === "silent"
        ? "The store is unavailable."
        : "Unknown.";
  return `${health} Duration of one linearizable read, including the round trip between this page and the server.`;
}

function Proportions({ counts, total }: { counts: readonly number[]; total: number }): JSX.Element {
  let x = 0;
  return (
    <svg class="proportions" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
      <rect width="100" height="4" class="none" />
      {counts.map((n, i) => {
        const width = total === 0 ? 0 : (n / total) * 100;
        const from = x;
        x += width;
        return (
          <rect
            key={GROUP_STATES[i]}
            x={from}
            width={width}
            height="4"
            class={GROUP_STATES[i]?.replace(" ", "-")}
          />
        );
      })}
    </svg>
  );
}
