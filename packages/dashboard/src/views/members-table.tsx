import type { JSX } from "preact";
import { duration } from "../model/format.js";
import type { Member } from "../model/wire.js";

const ORDER = { leader: 0, candidate: 1, observer: 2 } as const;

export function MembersTable({ members, nowMs }: { members: readonly Member[]; nowMs: number }): JSX.Element {
  if (members.length === 0) return <p class="muted">No node was seen in the last 30 seconds.</p>;
  const sorted = members.toSorted(
    (a, b) => ORDER[a.role] - ORDER[b.role] || a.node_id.localeCompare(b.node_id),
  );
  return (
    <table class="plain">
      <thead>
        <tr>
          <th scope="col">Node</th>
          <th scope="col">Role</th>
          <th scope="col">Ready</th>
          <th scope="col">Last seen</th>
        </tr>
      </thead>
      <tbody>
        {sorted.map(({ node_id, role, ready, last_heartbeat_ms, metadata }) => (
          <tr key={node_id}>
            <th scope="row">
              {node_id}
              <Metadata metadata={metadata} />
            </th>
            <td>
              <span class={`role ${role}`}>{role}</span>
            </td>
            <td class={ready ? "" : "muted"}>{ready ? "Yes" : "Preparing"}</td>
            <td class="number">{sign(nowMs - last_heartbeat_ms)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Signs are written down every few seconds, so less than that says nothing. */
function sign(agoMs: number): string {
  return agoMs < 1000 ? "just now" : `${duration(Math.floor(agoMs / 1000) * 1000)} ago`;
}

function Metadata({ metadata }: { metadata: Member["metadata"] }): JSX.Element | null {
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
