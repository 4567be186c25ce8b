import type { JSX } from "preact";
import type { Attention } from "../live/attention.js";
import { count } from "../model/format.js";

/** Above the list: that something needs attention, and where it is explained. */
export function AttentionStrip({ attention }: { attention: Attention }): JSX.Element | null {
  const findings = (attention.findings ?? []).filter(({ severity }) => severity !== "note");
  const [worst] = findings;
  if (worst === undefined) return null;
  return (
    <a class={`strip ${worst.severity}`} href="#/overview">
      <span class="shape" aria-hidden="true" />
      <strong>{count(findings.length, "finding needs", "findings need")} attention</strong>
      <span class="strip-text">
        {worst.group_id ?? ""} {worst.summary}
      </span>
      <span class="strip-more">{findings.length > 1 ? `and ${findings.length - 1} more` : "Show"}</span>
    </a>
  );
}
