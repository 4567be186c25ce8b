import type { ComponentChildren, JSX } from "preact";
import { dayTime, duration } from "../model/format.js";
import { type GroupRow, type Hold, holdOf } from "../model/group-row.js";
import type { ChangeRate } from "../model/timeline.js";
import type { Ban, Group, MemberHealth } from "../model/wire.js";
import { CopyButton } from "./copy-button.js";
import { IdText } from "./id-text.js";
import { LeaseBar } from "./lease-bar.js";
import { Metadata, seenAgo } from "./members-table.js";

export interface GroupFactsProps {
  readonly row: GroupRow;
  readonly group: Group | null;
  readonly members: readonly MemberHealth[];
  /** `null`: nothing is kept. */
  readonly rate: ChangeRate | null;
  readonly nowMs: number;
  readonly isLive: boolean;
}

/** How a group stands right now. */
export function GroupFacts(props: GroupFactsProps): JSX.Element {
  const { row, group, members, rate, nowMs, isLive } = props;
  const { leader, term, expiresAtMs, ttlMs, changedAtMs } = row;
  const hold = holdOf(row, nowMs);
  const metadata = members.find(({ node_id }) => node_id === leader)?.metadata;
  return (
    <dl class="facts card">
      <Fact name="Leader">
        {leader === null ? (
          <span class="muted">none</span>
        ) : (
          <>
            <IdText text={leader} /> <CopyButton text={leader} label="" what="the leader's id" />
            <Metadata metadata={metadata} />
          </>
        )}
      </Fact>
      <Fact name="Term">{term}</Fact>
      <Fact name="Lease">
        {leader === null ? (
          <span class="muted">none</span>
        ) : (
          <LeaseBar expiresAtMs={expiresAtMs} ttlMs={ttlMs} serverMs={nowMs} isLive={isLive} />
        )}
      </Fact>
      <Fact name="Last renewal">
        {leader === null || expiresAtMs === null ? (
          <span class="muted">–</span>
        ) : (
          seenAgo(Math.max(0, nowMs - (expiresAtMs - ttlMs)))
        )}
      </Fact>
      <Fact name={leader === null ? "Vacant for" : "Leading for"}>
        {changedAtMs === null ? (
          <span class="muted">{term === 0 ? "never led" : "unknown"}</span>
        ) : (
          duration(Math.max(0, nowMs - changedAtMs))
        )}
      </Fact>
      <Fact name="Leader changes">
        {rate === null ? (
          <span class="muted">–</span>
        ) : (
          <>
            {rate.changes} <span class="span">in {duration(rate.spanMs)}</span>
          </>
        )}
      </Fact>
      {hold !== null && (
        <Fact name="Held back" isWide>
          {whyHeldBack(hold, nowMs)}
        </Fact>
      )}
      {group?.paused === true && (
        <Fact name="Paused" isWide>
          <Pause group={group} nowMs={nowMs} />
        </Fact>
      )}
      {group !== null && group.bans.length > 0 && (
        <Fact name="Banned" isWide>
          {group.bans.map((ban) => (
            <BanLine key={ban.node_id} ban={ban} />
          ))}
        </Fact>
      )}
    </dl>
  );
}

function Pause({ group, nowMs }: { group: Group; nowMs: number }): JSX.Element {
  const until =
    group.paused_for_ms === undefined ? "until resumed" : `for ${duration(group.paused_for_ms)} more`;
  const { pause } = group;
  if (pause === null) return <>{until}</>;
  return (
    <>
      {until}, by <b>{pause.by}</b> since {dayTime(pause.since_ms, nowMs)} (
      {duration(Math.max(0, nowMs - pause.since_ms))} ago)
      <span class="why">{pause.reason === null ? "no reason given" : `“${pause.reason}”`}</span>
    </>
  );
}

function BanLine({ ban: { node_id, for_ms, by, reason } }: { ban: Ban }): JSX.Element {
  return (
    <span class="ban">
      <IdText text={node_id} /> may not win for {duration(for_ms)} more
      {by !== null && (
        <>
          , by <b>{by}</b>
        </>
      )}
      <span class="why">{reason === null ? "no reason given" : `“${reason}”`}</span>
    </span>
  );
}

function whyHeldBack({ by, untilMs }: Hold, nowMs: number): string {
  const left = duration(Math.max(0, untilMs - nowMs));
  switch (by) {
    case "deposed":
      return `the leader was asked to step down; the group is free when it resigns, or in ${left}`;
    case "reserved":
      return `reserved for a successor for ${left}`;
    case "takeover_delay":
      return `takeover delay, for ${left}`;
  }
}

interface FactProps {
  readonly name: string;
  /** In a line of its own. */
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
}

function Fact({ name, isWide = false, children }: FactProps): JSX.Element {
  return (
    <div class={isWide ? "wide" : undefined}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
