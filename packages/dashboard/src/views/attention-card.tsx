import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Attention } from "../live/attention.js";
import { count } from "../model/format.js";
import { FindingList } from "./finding-list.js";
import { sentence } from "./sign-in.js";

const MAX_SHOWN = 8;

/** What is wrong, the worst first. */
export function AttentionCard({ attention, nowMs }: { attention: Attention; nowMs: number }): JSX.Element {
  const { findings, omitted, refusal } = attention;
  const [isAll, setAll] = useState(false);
  return (
    <section class="card attention" aria-labelledby="attention-title">
      <h2 id="attention-title">Needs attention</h2>
      {findings === null ? (
        <p class="muted">{refusal === null ? "Checking …" : `Not available: ${sentence(refusal)}`}</p>
      ) : findings.length === 0 ? (
        <p class="all-well">
          <span class="shape" aria-hidden="true" /> Nothing: every check passed.
        </p>
      ) : (
        <FindingList findings={isAll ? findings : findings.slice(0, MAX_SHOWN)} nowMs={nowMs} />
      )}
      {findings !== null && findings.length > MAX_SHOWN && (
        <button type="button" class="quiet" onClick={() => setAll(!isAll)}>
          {isAll ? "Show fewer" : `Show all ${count(findings.length, "finding")}`}
        </button>
      )}
      {omitted > 0 && (
        <p class="muted small">{count(omitted, "more finding is", "more findings are")} not listed.</p>
      )}
    </section>
  );
}
