import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { groupPath } from "../live/api.js";
import { duration } from "../model/format.js";
import { changesOf, draftOf, type PolicyDraft } from "../model/policy-draft.js";
import { ActDialog } from "./act-dialog.js";
import type { ActProps } from "./acts.js";
import { DurationField } from "./duration-field.js";
import { NodesField } from "./nodes-field.js";
import { StrategyField } from "./strategy-field.js";

export function PolicyDialog({ group, target, send, onClose }: ActProps): JSX.Element {
  // The policy when the dialog was opened: what is sent is what its reader changed, and nothing else.
  const [before] = useState(group);
  const [draft, setDraft] = useState<PolicyDraft>(() => draftOf(before));
  const set = (change: Partial<PolicyDraft>): void => setDraft({ ...draft, ...change });
  const changes = changesOf(before, draft);
  const time = (field: keyof PolicyDraft, label: string): JSX.Element => (
    <DurationField label={label} value={String(draft[field])} onChange={(text) => set({ [field]: text })} />
  );
  const problem =
    changes.kind === "wrong"
      ? `${changes.field} is invalid.`
      : changes.lines.length === 0
        ? "Nothing was changed."
        : null;
  const { group_id } = group;
  return (
    <ActDialog
      title={`Policy of ${group_id}`}
      consequence="Current leases keep their duration; the new policy applies from the next campaign or renewal."
      confirm="Change policy"
      reason="optional"
      problem={problem}
      act={({ field, option }) => ({
        method: "PATCH",
        path: groupPath(group_id),
        body: { ...(changes.kind === "right" ? changes.patch : {}), ...field },
        command: [
          "groups",
          "update",
          group_id,
          ...(changes.kind === "right" ? changes.options : []),
          ...option,
        ],
      })}
      target={target}
      send={(act) => send(act, "The policy was changed.")}
      onClose={onClose}
    >
      <div class="pair">
        {time("minTtl", "Shortest lease")}
        {time("maxTtl", "Longest lease")}
        {time("takeoverDelay", "Takeover delay")}
        <StrategyField
          value={draft.strategy}
          onChange={(strategy) => set({ strategy, ...(strategy === "first" ? { preempt: false } : {}) })}
        />
        {time("retryInitial", "Retry backoff, initial")}
        {time("retryMax", "Retry backoff, maximum")}
        <label class="field">
          <span>Retry jitter (0 to 1)</span>
          <input
            value={draft.retryJitter}
            autocomplete="off"
            onInput={(event) => set({ retryJitter: event.currentTarget.value })}
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={draft.preempt}
            disabled={draft.strategy !== "priority"}
            onChange={(event) => set({ preempt: event.currentTarget.checked })}
          />
          A higher priority may preempt
        </label>
      </div>
      <NodesField
        isRestricted={draft.isRestricted}
        nodes={draft.nodes}
        onChange={(isRestricted, nodes) => set({ isRestricted, nodes })}
      />
      {changes.kind === "right" && changes.lines.length > 0 && (
        <ul class="changes" aria-label="What will change">
          {changes.lines.map(({ name, from, to }) => (
            <li key={name}>
              {name}: <del>{shown(from)}</del> <ins>{shown(to)}</ins>
            </li>
          ))}
        </ul>
      )}
    </ActDialog>
  );
}

function shown(value: number | string | boolean): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "number" && (value === 0 || value >= 1) ? duration(value) : String(value);
}
