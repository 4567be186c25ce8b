import type { JSX } from "preact";
import { duration } from "../model/format.js";
import type { Group, MemberHealth } from "../model/wire.js";
import { CopyButton } from "./copy-button.js";
import { IdText } from "./id-text.js";

const ORDER = { leader: 0, candidate: 1, observer: 2 } as const;

export interface MembersTableProps {
  readonly members: readonly MemberHealth[];
  readonly nowMs: number;
}

/** The roles are explicit: on a phone the rows are drawn as blocks, and stay a table for screen readers. */
export function MembersTable({ members, nowMs }: MembersTableProps): JSX.Element {
  if (members.length === 0) return <p class="muted">No node was seen in the last minutes.</p>;
  const sorted = members.toSorted(
    (a, b) => ORDER[a.role] - ORDER[b.role] || a.node_id.localeCompare(b.node_id),
  );
  return (
    <table class="plain members" role="table">
      <thead role="rowgroup">
        <tr role="row">
          {["Node", "Role", "Health", "Last seen"].map((name) => (
            <th key={name} scope="col" role="columnheader">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {sorted.map(({ node_id, role, ready, state, reason, last_heartbeat_ms, metadata }) => (
          <tr key={node_id} role="row" class={state}>
            <th scope="row" role="rowheader">
              <IdText text={node_id} /> <CopyButton text={node_id} label="" what={`the node id ${node_id}`} />
              <Metadata metadata={metadata} />
            </th>
            <td role="cell">
              <span class={`role ${role}`}>{role}</span>
            </td>
            <td role="cell">
              <span class={`health ${state}`} title={reason}>
                {state === "healthy" ? (ready ? "Ready" : "Preparing") : `${HEALTH[state]}: ${reason}`}
              </span>
            </td>
            <td role="cell" class="seen">
              {seenAgo(nowMs - last_heartbeat_ms)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const HEALTH = { suspect: "Suspect", down: "Down" } as const;

/**
 * With the leader of the group as such: a deposed one leads until its lease ends, although it is a candidate again. A leader with a
 * long lease renews seldom, so it may not have been seen for longer than members are kept.
 */
export function withLeader(
  members: readonly MemberHealth[],
  group: Group | null,
  nowMs: number,
): readonly MemberHealth[] {
  const leader = group?.leader ?? null;
  if (leader === null) return members;
  if (members.some(({ node_id }) => node_id === leader.node_id))
    return members.map((each) => (each.node_id === leader.node_id ? { ...each, role: "leader" } : each));
  const renewedMs = leader.lease_expires_at_ms - (group?.lease_ttl_ms ?? 0);
  const renewed: MemberHealth = {
    node_id: leader.node_id,
    role: "leader",
    ready: true,
    last_heartbeat_ms: Math.min(renewedMs, nowMs),
    state: "healthy",
    reason: "its lease lasts",
    since_ms: renewedMs,
  };
  return [renewed, ...members];
}

/** Signs are written down every few seconds, so less than that says nothing. */
export function seenAgo(agoMs: number): string {
  return agoMs < 1000 ? "just now" : `${duration(Math.floor(agoMs / 1000) * 1000)} ago`;
}

export function metadataText(metadata: MemberHealth["metadata"]): string {
  return Object.entries(metadata ?? {})
    .map(([key, value]) => `${key} ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}

export function Metadata({ metadata }: { metadata: MemberHealth["metadata"] }): JSX.Element | null {
  const entries = Object.entries(metadata ?? {});
  if (entries.length === 0) return null;
  return (
    <span class="metadata">
      {entries.map(([key, value]) => (
        <span key={key}>
          <span class="muted">{key}</span> {typeof value === "string" ? value : JSON.stringify(value)}
        </span>
      ))}
    </span>
  );
}
