import type { ComponentChildren, JSX } from "preact";
import { duration } from "../model/format.js";
import { type GroupRow, type Hold, holdOf } from "../model/group-row.js";
import type { Group } from "../model/wire.js";
import { LeaseBar } from "./lease-bar.js";

export interface GroupFactsProps {
  readonly row: GroupRow;
  readonly group: Group | null;
  readonly nowMs: number;
  readonly isLive: boolean;
}

/** How a group stands right now. */
export function GroupFacts({ row, group, nowMs, isLive }: GroupFactsProps): JSX.Element {
  const { leader, term, expiresAtMs, ttlMs, changedAtMs } = row;
  const hold = holdOf(row, nowMs);
  return (
    <dl class="facts card">
      <Fact name="Leader">{leader ?? <span class="muted">none</span>}</Fact>
      <Fact name="Term">{term}</Fact>
      <Fact name="Lease">
        {expiresAtMs === null ? (
          <span class="muted">none</span>
        ) : (
          <LeaseBar expiresAtMs={expiresAtMs} ttlMs={ttlMs} serverMs={nowMs} isLive={isLive} />
        )}
      </Fact>
      <Fact name={leader === null ? "Vacant for" : "Leading for"}>
        {changedAtMs === null ? (
          <span class="muted">{term === 0 ? "never led" : "unknown"}</span>
        ) : (
          duration(Math.max(0, nowMs - changedAtMs))
        )}
      </Fact>
      {hold !== null && <Fact name="Held back">{whyHeldBack(hold, nowMs)}</Fact>}
      {group?.paused === true && (
        <Fact name="Paused">
          {group.paused_for_ms === undefined ? "until resumed" : `for ${duration(group.paused_for_ms)} more`}
        </Fact>
      )}
    </dl>
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

function Fact({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
