import type { JSX } from "preact";
import { type GroupRow, type GroupState, stateOf } from "../model/group-row.js";

const MEANINGS: Readonly<Record<GroupState, string>> = {
  vacant: "The group has no leader.",
  flapping: "The leader changes again and again.",
  overdue: "The leader has missed its renewals; its lease is about to expire.",
  "held back":
    "No node can win now: the leader was asked to step down, or a takeover delay or a reservation lasts.",
  paused: "No new leader until the group is resumed.",
  "never led": "No node has led this group yet.",
  led: "The group has a leader.",
};

/** A shape and a word, so that a state is told by more than its colour. */
export function StateBadge({
  state,
  isVacant = false,
}: {
  state: GroupState;
  isVacant?: boolean;
}): JSX.Element {
  const isWithout = isVacant && (state === "paused" || state === "held back");
  return (
    <span class={`badge ${state.replace(" ", "-")}`} title={MEANINGS[state]}>
      <span key={state} class="shape" aria-hidden="true" />
      <span>
        {state}
        {isWithout && <b>, vacant</b>}
      </span>
    </span>
  );
}

export function RowBadge({ row, nowMs }: { row: GroupRow; nowMs: number }): JSX.Element {
  return <StateBadge state={stateOf(row, nowMs)} isVacant={row.leader === null && row.term > 0} />;
}
