import type { JSX } from "preact";
import { useEffect, useMemo, useReducer, useState } from "preact/hooks";
import type { Dashboard } from "../live/dashboard.js";
import { GroupDetail } from "../live/group-detail.js";
import { buildTimeline, changeRate, failoversOf } from "../model/timeline.js";
import { Acts, type Said } from "./acts.js";
import { CopyButton } from "./copy-button.js";
import { CreateDialog } from "./create-dialog.js";
import { FailoverPlot } from "./failover-plot.js";
import { FindingList } from "./finding-list.js";
import { GroupFacts } from "./group-facts.js";
import { HistoryList } from "./history-list.js";
import { IdText } from "./id-text.js";
import { MembersTable, withLeader } from "./members-table.js";
import { PolicyCard } from "./policy-card.js";
import { sentence } from "./sign-in.js";
import { RowBadge } from "./state-badge.js";
import { TimelineChart } from "./timeline-chart.js";
import { useSeconds } from "./use-dashboard.js";

export interface GroupPageProps {
  readonly dashboard: Dashboard;
  readonly groupId: string;
  readonly query: URLSearchParams;
  /** The list, as the reader left it. */
  readonly listHref: string;
}

const NOTHING: Said = { text: "", kind: "good" };

export function GroupPage({ dashboard, groupId, query, listHref }: GroupPageProps): JSX.Element {
  useSeconds();
  const [, changed] = useReducer((turn: number, _: void) => turn + 1, 0);
  const detail = useMemo(() => new GroupDetail(dashboard, groupId, () => changed()), [dashboard, groupId]);
  useEffect(() => detail.start(), [detail]);
  const [said, say] = useState<Said>(NOTHING);
  const { group, history, acts, refusal, isMissing } = detail;
  const isLive = dashboard.status.kind === "live";
  const nowMs = dashboard.shownMs();
  const members = withLeader(detail.members, group, nowMs);
  const row = dashboard.board.row(groupId);
  const spans = buildTimeline(history, nowMs);
  const findings = (dashboard.attention.findings ?? []).filter(({ group_id }) => group_id === groupId);
  const isEmpty = isMissing || refusal !== null;
  return (
    <section class="group">
      <nav class="crumbs" aria-label="Breadcrumb">
        <a href={listHref}>← Groups</a>
      </nav>
      <div class="group-head">
        <h1 tabIndex={-1}>
          <IdText text={groupId} />
        </h1>
        <CopyButton text={groupId} label="" what="the group id" />
        {row !== undefined && !isEmpty && <RowBadge row={row} nowMs={nowMs} />}
        {group !== null && !isEmpty && (
          <Acts dashboard={dashboard} detail={detail} group={group} members={members} say={say} />
        )}
      </div>
      <p class="hidden" role="status">
        {said.text !== ""
          ? said.text
          : row === undefined || isEmpty
            ? ""
            : row.leader === null
              ? "no leader"
              : `${row.leader} leads, term ${row.term}`}
      </p>
      {said.text !== "" && (
        <p class={`banner ${said.kind}`} aria-hidden="true">
          {said.text}
        </p>
      )}
      {isMissing ? (
        <Missing dashboard={dashboard} groupId={groupId} onCreated={() => detail.refresh()} />
      ) : refusal !== null ? (
        <p class="empty">{sentence(refusal)}</p>
      ) : (
        <>
          {findings.length > 0 && (
            <section class="card attention" aria-label="Needs attention">
              <FindingList findings={findings} nowMs={nowMs} isOfOneGroup />
            </section>
          )}
          {row !== undefined && (
            <GroupFacts
              row={row}
              group={group}
              members={members}
              rate={changeRate(history, nowMs)}
              nowMs={nowMs}
              isLive={isLive}
            />
          )}
          <section class="card" aria-labelledby="timeline-title">
            <h2 id="timeline-title">Leadership</h2>
            <TimelineChart
              spans={spans}
              nowMs={nowMs}
              range={query.get("range")}
              isCut={(history[0]?.number ?? 1) > 1}
            />
          </section>
          <div class="columns">
            <div>
              <section class="card" aria-labelledby="members-title">
                <h2 id="members-title">Members</h2>
                <MembersTable members={members} nowMs={nowMs} />
              </section>
              {group !== null && <PolicyCard group={group} />}
            </div>
            <div>
              <section class="card" aria-labelledby="failover-title">
                <h2 id="failover-title">Failover times</h2>
                <FailoverPlot failovers={failoversOf(spans)} nowMs={nowMs} />
              </section>
              <section class="card" aria-labelledby="history-title">
                <h2 id="history-title">History</h2>
                <HistoryList events={history} acts={acts} nowMs={nowMs} />
              </section>
            </div>
          </div>
        </>
      )}
    </section>
  );
}

interface MissingProps {
  readonly dashboard: Dashboard;
  readonly groupId: string;
  readonly onCreated: () => void;
}

function Missing({ dashboard, groupId, onCreated }: MissingProps): JSX.Element {
  const [isCreating, setCreating] = useState(false);
  return (
    <div class="empty card">
      <h2>This group does not exist (yet)</h2>
      <p>The first campaign creates it. Check the id for a typing error, or create the group now.</p>
      {dashboard.reader?.role === "admin" && (
        <button type="button" class="primary" onClick={() => setCreating(true)}>
          Create group …
        </button>
      )}
      {isCreating && (
        <CreateDialog
          groupId={groupId}
          target={dashboard.target()}
          send={(act) => dashboard.api.send(act)}
          onCreated={onCreated}
          onClose={() => setCreating(false)}
        />
      )}
    </div>
  );
}
