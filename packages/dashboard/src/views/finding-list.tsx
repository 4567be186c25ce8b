import type { JSX } from "preact";
import { dayTime } from "../model/format.js";
import type { Finding } from "../model/wire.js";
import { groupHref } from "./route.js";
import { capitalized, sentence } from "./sign-in.js";

const WORDS: Readonly<Record<Finding["severity"], string>> = {
  problem: "Problem",
  warning: "Warning",
  note: "Note",
};

export interface FindingListProps {
  readonly findings: readonly Finding[];
  readonly nowMs: number;
  /** On the page of the group that they are about. */
  readonly isOfOneGroup?: boolean;
}

/** What is wrong, each with its next step, which may end in a command to copy: no full stop follows it. */
export function FindingList({ findings, nowMs, isOfOneGroup = false }: FindingListProps): JSX.Element {
  return (
    <ul class="findings">
      {findings.map(({ kind, severity, group_id, since_ms, summary, next_step }) => (
        <li key={`${kind} ${group_id ?? ""}`} class={severity}>
          <span class="severity">
            <span class="shape" aria-hidden="true" />
            {WORDS[severity]}
          </span>
          <span class="finding">
            {group_id !== null && !isOfOneGroup && (
              <>
                <a class="finding-group" href={groupHref(group_id)}>
                  {group_id}
                </a>{" "}
              </>
            )}
            <span>
              {isOfOneGroup
                ? sentence(`This group ${summary}`)
                : group_id === null
                  ? sentence(summary)
                  : summary}
            </span>
            <span class="muted small next-step">{capitalized(next_step)}</span>
          </span>
          <span class="muted small since">
            {since_ms === null ? "" : `since ${dayTime(since_ms, nowMs)}`}
          </span>
        </li>
      ))}
    </ul>
  );
}
