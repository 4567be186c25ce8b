/** A policy as it is being edited: texts, until they are understood. */
import { duration, parseDuration } from "./format.js";
import type { Policy } from "./wire.js";

export interface PolicyDraft {
  readonly minTtl: string;
  readonly maxTtl: string;
  readonly takeoverDelay: string;
  readonly strategy: string;
  readonly preempt: boolean;
  readonly retryInitial: string;
  readonly retryMax: string;
  readonly retryJitter: string;
}

export interface PolicyChange {
  readonly name: string;
  readonly from: number | string | boolean;
  readonly to: number | string | boolean;
}

export type PolicyChanges =
  | { readonly kind: "wrong"; readonly field: string }
  | {
      readonly kind: "right";
      readonly lines: readonly PolicyChange[];
      readonly patch: Readonly<Record<string, unknown>>;
    };

export function draftOf({
  min_ttl_ms,
  max_ttl_ms,
  takeover_delay_ms,
  strategy,
  preempt,
  retry,
}: Policy): PolicyDraft {
  return {
    minTtl: written(min_ttl_ms),
    maxTtl: written(max_ttl_ms),
    takeoverDelay: written(takeover_delay_ms),
    strategy,
    preempt,
    retryInitial: written(retry.initial_ms),
    retryMax: written(retry.max_ms),
    retryJitter: String(retry.jitter),
  };
}

/** Only what differs is sent: whatever another admin has changed meanwhile stays. */
export function changesOf(before: Policy, draft: PolicyDraft): PolicyChanges {
  const jitter = /^(?:0|1|0?\.\d+|[01]\.0+)$/.test(draft.retryJitter.trim())
    ? Number(draft.retryJitter)
    : null;
  const entries: readonly (readonly [string, string, PolicyChange["from"], PolicyChange["to"] | null])[] = [
    ["Shortest lease", "min_ttl_ms", before.min_ttl_ms, parseDuration(draft.minTtl)],
    ["Longest lease", "max_ttl_ms", before.max_ttl_ms, parseDuration(draft.maxTtl)],
    ["Takeover delay", "takeover_delay_ms", before.takeover_delay_ms, parseDuration(draft.takeoverDelay)],
    ["Candidate selection", "strategy", before.strategy, draft.strategy],
    ["Preemption", "preempt", before.preempt, draft.preempt],
    ["Retry, first", "retry.initial_ms", before.retry.initial_ms, parseDuration(draft.retryInitial)],
    ["Retry, longest", "retry.max_ms", before.retry.max_ms, parseDuration(draft.retryMax)],
    ["Retry jitter", "retry.jitter", before.retry.jitter, jitter],
  ];
  const lines: PolicyChange[] = [];
  const patch: Record<string, unknown> = {};
  const retry: Record<string, unknown> = {};
  for (const [name, key, from, to] of entries) {
    if (to === null) return { kind: "wrong", field: name };
    if (to === from) continue;
    lines.push({ name, from, to });
    if (key.startsWith("retry.")) retry[key.slice("retry.".length)] = to;
    else patch[key] = to;
  }
  if (Object.keys(retry).length > 0) patch["retry"] = retry;
  return { kind: "right", lines, patch };
}

/** As the field takes it back, exactly. */
function written(ms: number): string {
  const text = duration(ms).replaceAll(" ", "");
  return parseDuration(text) === ms ? text : `${ms}ms`;
}
