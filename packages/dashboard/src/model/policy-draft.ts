/** The settings of a group as they are being edited: texts, until they are understood. */
import { parseDuration, written } from "./format.js";
import type { Group } from "./wire.js";

export type Settings = Pick<Group, "policy" | "allowed_nodes">;

export interface PolicyDraft {
  readonly minTtl: string;
  readonly maxTtl: string;
  readonly takeoverDelay: string;
  readonly strategy: string;
  readonly preempt: boolean;
  readonly retryInitial: string;
  readonly retryMax: string;
  readonly retryJitter: string;
  /** Only `nodes` may win; otherwise every node. */
  readonly isRestricted: boolean;
  /** Ids, separated by commas, spaces or lines. */
  readonly nodes: string;
}

type Value = number | string | boolean;

export interface PolicyChange {
  readonly name: string;
  readonly from: Value;
  readonly to: Value;
}

export type PolicyChanges =
  | { readonly kind: "wrong"; readonly field: string }
  | {
      readonly kind: "right";
      readonly lines: readonly PolicyChange[];
      readonly patch: Readonly<Record<string, unknown>>;
      /** The same as options of `tenure groups update`. */
      readonly options: readonly string[];
    };

export function draftOf({ policy, allowed_nodes }: Settings): PolicyDraft {
  const { min_ttl_ms, max_ttl_ms, takeover_delay_ms, strategy, preempt, retry } = policy;
  return {
    minTtl: written(min_ttl_ms),
    maxTtl: written(max_ttl_ms),
    takeoverDelay: written(takeover_delay_ms),
    strategy,
    preempt,
    retryInitial: written(retry.initial_ms),
    retryMax: written(retry.max_ms),
    retryJitter: String(retry.jitter),
    isRestricted: allowed_nodes !== null,
    nodes: (allowed_nodes ?? []).join(", "),
  };
}

interface Entry {
  readonly name: string;
  readonly key: string;
  readonly from: Value;
  /** `null`: not understood. */
  readonly to: Value | null;
  readonly option: (to: Value) => readonly string[];
}

/** Only what differs is sent: whatever another admin has changed meanwhile stays. */
export function changesOf({ policy, allowed_nodes }: Settings, draft: PolicyDraft): PolicyChanges {
  const { retry } = policy;
  const time = (name: string, key: string, flag: string, from: number, text: string): Entry => ({
    name,
    key,
    from,
    to: parseDuration(text),
    option: (to) => [flag, written(Number(to))],
  });
  const isShare = /^(?:0|1|0?\.\d+|[01]\.0+)$/.test(draft.retryJitter.trim());
  const jitter = isShare ? Number(draft.retryJitter) : null;
  const text = (flag: string) => (to: Value) => [flag, String(to)];
  const entries: readonly Entry[] = [
    time("Shortest lease", "min_ttl_ms", "--min-ttl", policy.min_ttl_ms, draft.minTtl),
    time("Longest lease", "max_ttl_ms", "--max-ttl", policy.max_ttl_ms, draft.maxTtl),
    time(
      "Takeover delay",
      "takeover_delay_ms",
      "--takeover-delay",
      policy.takeover_delay_ms,
      draft.takeoverDelay,
    ),
    {
      name: "Candidate selection",
      key: "strategy",
      from: policy.strategy,
      to: draft.strategy,
      option: text("--strategy"),
    },
    {
      name: "Preemption",
      key: "preempt",
      from: policy.preempt,
      to: draft.preempt,
      option: (to) => [to === true ? "--preempt" : "--no-preempt"],
    },
    time(
      "Retry backoff, initial",
      "retry.initial_ms",
      "--retry-initial",
      retry.initial_ms,
      draft.retryInitial,
    ),
    time("Retry backoff, maximum", "retry.max_ms", "--retry-max", retry.max_ms, draft.retryMax),
    {
      name: "Retry jitter",
      key: "retry.jitter",
      from: retry.jitter,
      to: jitter,
      option: text("--retry-jitter"),
    },
  ];
  const lines: PolicyChange[] = [];
  const options: string[] = [];
  const changed: Record<string, unknown> = {};
  const retryChanged: Record<string, unknown> = {};
  for (const { name, key, from, to, option } of entries) {
    if (to === null) return { kind: "wrong", field: name };
    if (to === from) continue;
    lines.push({ name, from, to });
    options.push(...option(to));
    if (key.startsWith("retry.")) retryChanged[key.slice("retry.".length)] = to;
    else changed[key] = to;
  }
  if (Object.keys(retryChanged).length > 0) changed["retry"] = retryChanged;
  const patch: Record<string, unknown> = Object.keys(changed).length > 0 ? { policy: changed } : {};
  const nodes = draft.isRestricted ? nodesOf(draft.nodes) : null;
  if (nodesText(nodes) !== nodesText(allowed_nodes)) {
    lines.push({ name: "Allowed nodes", from: nodesText(allowed_nodes), to: nodesText(nodes) });
    options.push(...(nodes === null ? ["--allow-any"] : ["--allow", nodes.join(",")]));
    patch["allowed_nodes"] = nodes;
  }
  return { kind: "right", lines, patch, options };
}

export function nodesOf(text: string): readonly string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
}

export function nodesText(nodes: readonly string[] | null): string {
  if (nodes === null) return "any node";
  return nodes.length === 0 ? "no node" : nodes.join(", ");
}
