import type { JSX } from "preact";
import type { Dashboard } from "../live/dashboard.js";
import { duration, grouped } from "../model/format.js";
import { GROUP_STATES } from "../model/group-row.js";
import { EVERY_ROW, filterRows } from "../model/row-filter.js";
import type { AuditPage } from "../model/wire.js";
import { ActList } from "./activity-page.js";
import { AttentionCard } from "./attention-card.js";
import { OverviewPlots } from "./overview-plots.js";
import { hrefWith } from "./route.js";
import { sentence } from "./sign-in.js";
import { StateBadge } from "./state-badge.js";
import { useSeconds } from "./use-dashboard.js";
import { usePolled } from "./use-polled.js";

const RECENT_ACTS = 6;
const POLL_MS = 5000;

/** What is wrong first, then how the service stands. */
export function OverviewPage({ dashboard }: { dashboard: Dashboard }): JSX.Element {
  useSeconds();
  const nowMs = dashboard.shownMs();
  const { counts, total } = filterRows(dashboard.board, EVERY_ROW, nowMs);
  return (
    <section class="overview" aria-labelledby="overview-title">
      <h1 id="overview-title" tabIndex={-1}>
        Overview
      </h1>
      <AttentionCard attention={dashboard.attention} nowMs={nowMs} />
      <div class="tally card" role="group" aria-label="Groups by state">
        <p class="tally-total">
          <b>{grouped(total)}</b> groups
        </p>
        <Proportions counts={GROUP_STATES.map((state) => counts[state])} total={total} />
        <ul>
          {GROUP_STATES.filter((state) => counts[state] > 0).map((state) => (
            <li key={state}>
              <a href={hrefWith("", { state })}>
                <StateBadge state={state} /> <b>{grouped(counts[state])}</b>
              </a>
            </li>
          ))}
        </ul>
      </div>
      <RecentActs dashboard={dashboard} />
      <ServerCard dashboard={dashboard} nowMs={nowMs} />
      <OverviewPlots sampler={dashboard.sampler} />
    </section>
  );
}

function RecentActs({ dashboard }: { dashboard: Dashboard }): JSX.Element {
  const { value, refusal } = usePolled<AuditPage>(dashboard, `/v1/audit?limit=${RECENT_ACTS}`, POLL_MS);
  return (
    <section class="card recent" aria-labelledby="recent-title">
      <h2 id="recent-title">
        <a href="#/activity">Activity</a>
      </h2>
      {value === null ? (
        <p class="muted">{refusal === null ? "Loading …" : `Not available: ${sentence(refusal)}`}</p>
      ) : value.acts.length === 0 ? (
        <p class="muted">No operator has acted yet.</p>
      ) : (
        <ActList acts={value.acts} nowMs={dashboard.shownMs()} />
      )}
    </section>
  );
}

function ServerCard({ dashboard, nowMs }: { dashboard: Dashboard; nowMs: number }): JSX.Element {
  const { server, sampler } = dashboard;
  const answer =
    sampler.store === "silent"
      ? "does not respond"
      : sampler.storeMs === null
        ? "unknown"
        : `responds in ${duration(sampler.storeMs)}, network included`;
  const lines: readonly (readonly [string, string])[] = [
    ["Address", location.origin],
    ...(server === null
      ? []
      : ([
          ["Version", server.version],
          ["Up for", duration(Math.max(0, nowMs - server.started_at_ms))],
          ["Store", `${server.store}; ${answer}`],
          ["Credentials", server.auth === "required" ? "required" : "not required"],
        ] as const)),
  ];
  return (
    <section class="card server" aria-labelledby="server-title">
      <h2 id="server-title">This server</h2>
      <dl>
        {lines.map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
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
