import type { JSX } from "preact";
import { duration } from "../model/format.js";
import { nodesText } from "../model/policy-draft.js";
import type { Group } from "../model/wire.js";

export function PolicyCard({ group }: { group: Group }): JSX.Element {
  const { policy, allowed_nodes, explicit } = group;
  const { retry } = policy;
  const lines: readonly (readonly [string, string])[] = [
    ["Lease duration", `${duration(policy.min_ttl_ms)} to ${duration(policy.max_ttl_ms)}`],
    ["Takeover delay", policy.takeover_delay_ms === 0 ? "none" : duration(policy.takeover_delay_ms)],
    [
      "Candidate selection",
      policy.strategy === "priority" ? "highest priority first" : "first come, first served",
    ],
    ["Preemption", policy.preempt ? "by a candidate of higher priority" : "off"],
    [
      "Retry backoff",
      `${duration(retry.initial_ms)} initial, ${duration(retry.max_ms)} maximum, ${Math.round(retry.jitter * 100)} % jitter`,
    ],
    ["Allowed nodes", nodesText(allowed_nodes)],
    ["Created", explicit ? "by an operator" : "by its first campaign"],
  ];
  return (
    <section class="card" aria-labelledby="policy-title">
      <h2 id="policy-title">Policy</h2>
      <dl class="policy">
        {lines.map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
