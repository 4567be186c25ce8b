import type { JSX } from "preact";
import { duration } from "../model/format.js";
import type { Group } from "../model/wire.js";

export function PolicyCard({ group }: { group: Group }): JSX.Element {
  const { policy, allowed_nodes, explicit, term } = group;
  const { retry } = policy;
  const lines: readonly (readonly [string, string])[] = [
    ["Lease", `${duration(policy.min_ttl_ms)} to ${duration(policy.max_ttl_ms)}`],
    ["Takeover delay", policy.takeover_delay_ms === 0 ? "none" : duration(policy.takeover_delay_ms)],
    [
      "Candidate selection",
      policy.strategy === "priority" ? "highest priority first" : "first come, first served",
    ],
    ["Preemption", policy.preempt ? "by a higher priority" : "no"],
    [
      "Retry",
      `${duration(retry.initial_ms)} to ${duration(retry.max_ms)}, ${Math.round(retry.jitter * 100)} % jitter`,
    ],
    ["Nodes", allowed_nodes === null ? "any" : allowed_nodes.join(", ")],
    ["Created", explicit ? "by an operator" : term === 0 ? "not yet" : "by its first campaign"],
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
