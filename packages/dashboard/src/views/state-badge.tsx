import type { JSX } from "preact";
import type { GroupState } from "../model/group-row.js";

export function StateBadge({ state }: { state: GroupState }): JSX.Element {
  return (
    <span class={`badge ${state.replace(" ", "-")}`}>
      <span class="shape" aria-hidden="true" />
      {state}
    </span>
  );
}
