import type { JSX } from "preact";
import { useEffect, useMemo, useReducer, useState } from "preact/hooks";
import type { Dashboard } from "../live/dashboard.js";
import { GroupDetail } from "../live/group-detail.js";
import { stateOf } from "../model/group-row.js";
import { buildTimeline, failoversOf } from "../model/timeline.js";
import { Acts } from "./acts.js";
import { FailoverPlot } from "./failover-plot.js";
import { GroupFacts } from "./group-facts.js";
import { HistoryList } from "./history-list.js";
import { MembersTable } from "./members-table.js";
import { PolicyCard } from "./policy-card.js";
import { sentence } from "./sign-in.js";
import { StateBadge } from "./state-badge.js";
import { TimelineChart } from "./timeline-chart.js";
import { useSeconds } from "./use-dashboard.js";

export function GroupPage({ dashboard, groupId }: { dashboard: Dashboard; groupId: string }): JSX.Element {
  useSeconds();
  const [, changed] = useReducer((turn: number, _: void) => turn + 1, 0);
  const detail = useMemo(() => new GroupDetail(dashboard, groupId, () => changed()), [dashboard, groupId]);
  useEffect(() => detail.start(), [detail]);
  const [said, say] = useState("");
  const { group, history, members, refusal } = detail;
  const isLive = dashboard.status.kind === "live";
  const nowMs = dashboard.shownMs();

  const head = (
    <p class="crumbs">
      <a href="#/">Groups</a> <span aria-hidden="true">/</span>
    </p>
  );
  if (refusal !== null) {
    return (
      <section class="group">
        {head}
        <h1 tabIndex={-1}>{groupId}</h1>
        <p class="empty">{sentence(refusal)}</p>
      </section>
    );
  }
  const row = dashboard.board.row(groupId);
  const spans = buildTimeline(history, nowMs);
  return (
    <section class="group">
      {head}
      <div class="group-head">
        <h1 tabIndex={-1}>{groupId}</h1>
        {row !== undefined && <StateBadge state={stateOf(row, nowMs)} />}
        {group !== null && (
          <Acts dashboard={dashboard} detail={detail} group={group} members={members} say={say} />
        )}
      </div>
      <p class="hidden" role="status">
        {said !== ""
          ? said
          : row === undefined
            ? ""
            : row.leader === null
              ? "no leader"
              : `${row.leader} leads, term ${row.term}`}
      </p>
      {said !== "" && (
        <p class="banner good" aria-hidden="true">
          {said}
        </p>
      )}
      {row !== undefined && <GroupFacts row={row} group={group} nowMs={nowMs} isLive={isLive} />}
      <section class="card" aria-labelledby="timeline-title">
        <h2 id="timeline-title">Leadership</h2>
        <TimelineChart spans={spans} nowMs={nowMs} />
      </section>
      <div class="columns">
        <section class="card" aria-labelledby="members-title">
          <h2 id="members-title">Members</h2>
          <MembersTable members={members} nowMs={nowMs} />
        </section>
        <section class="card" aria-labelledby="failover-title">
          <h2 id="failover-title">Failover times</h2>
          <FailoverPlot failovers={failoversOf(spans)} nowMs={nowMs} />
        </section>
        <section class="card" aria-labelledby="history-title">
          <h2 id="history-title">History</h2>
          <HistoryList events={history} nowMs={nowMs} />
        </section>
        {group !== null && <PolicyCard group={group} />}
      </div>
    </section>
  );
}
