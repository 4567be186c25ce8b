import { Component, type JSX } from "preact";
import { briefly } from "../model/format.js";
import type { GroupRow } from "../model/group-row.js";
import { Clipped } from "./clipped.js";
import { LeaseBar } from "./lease-bar.js";
import { groupHref } from "./route.js";
import { RowBadge } from "./state-badge.js";

export interface GroupListRowProps {
  readonly row: GroupRow;
  readonly index: number;
  readonly topPx: number;
  readonly serverMs: number;
  readonly isLive: boolean;
  readonly onFocus: (groupId: string) => void;
}

/** What is shown changes by the second, so a row is rendered again only then, or when its data changes. */
const SHOWN_MS = 1000;

export class GroupListRow extends Component<GroupListRowProps> {
  override shouldComponentUpdate(next: GroupListRowProps): boolean {
    const { row, topPx, isLive, serverMs } = this.props;
    return (
      next.row !== row ||
      next.topPx !== topPx ||
      next.isLive !== isLive ||
      (isLive && Math.floor(next.serverMs / SHOWN_MS) !== Math.floor(serverMs / SHOWN_MS))
    );
  }

  override render(): JSX.Element {
    const { row, index, topPx, serverMs, isLive, onFocus } = this.props;
    const { groupId, leader, term, expiresAtMs, ttlMs, members, changedAtMs } = row;
    return (
      <div
        role="row"
        aria-rowindex={index + 2}
        data-index={index}
        class="row"
        style={{ transform: `translateY(${topPx}px)` }}
        onFocusCapture={() => onFocus(groupId)}
      >
        <span role="cell" class="c-group">
          <a href={groupHref(groupId)} aria-label={groupId}>
            <Clipped text={groupId} />
          </a>
        </span>
        <span role="cell" class="c-state">
          <RowBadge row={row} nowMs={serverMs} />
        </span>
        <span role="cell" class="c-leader">
          {leader === null ? <span class="muted">no leader</span> : <Clipped text={leader} tail={5} />}
        </span>
        <span role="cell" class="c-term">
          <span class="unit">term </span>
          {term}
        </span>
        <span role="cell" class="c-lease">
          {leader !== null && (
            <LeaseBar expiresAtMs={expiresAtMs} ttlMs={ttlMs} serverMs={serverMs} isLive={isLive} />
          )}
        </span>
        <span role="cell" class="c-members">
          {members ?? <span class="muted">…</span>}
          {members !== null && <span class="unit">{members === 1 ? " member" : " members"}</span>}
        </span>
        <span role="cell" class="c-since">
          {changedAtMs !== null && (
            <>
              <span class="unit">for </span>
              {briefly(serverMs - changedAtMs)}
            </>
          )}
        </span>
      </div>
    );
  }
}
