import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { duration } from "../model/format.js";
import { changesOf, draftOf, type PolicyDraft } from "../model/policy-draft.js";
import { ActDialog } from "./act-dialog.js";
import type { ActProps } from "./acts.js";
import { DurationField } from "./duration-field.js";

export function PolicyDialog({ group, send, onClose }: ActProps): JSX.Element {
  // The policy when the dialog was opened: what is sent is what its reader changed, and nothing else.
  const [before] = useState(group.policy);
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
        ? "There are no changes yet."
        : null;
  return (
    <ActDialog
      title={`Policy of ${group.group_id}`}
      consequence="Current leases keep their duration; the new policy applies from the next campaign or renewal."
      confirm="Change policy"
      problem={problem}
      act={(reason) =>
        send({
          method: "PATCH",
          verb: "",
          body: { policy: changes.kind === "right" ? changes.patch : {}, reason },
          done: "The policy was changed.",
        })
      }
      onClose={onClose}
    >
      <div class="pair">
        {time("minTtl", "Shortest lease")}
        {time("maxTtl", "Longest lease")}
        {time("takeoverDelay", "Takeover delay")}
        <label class="field">
          <span>Candidate selection</span>
          <select
            value={draft.strategy}
            onChange={({ currentTarget: { value } }) =>
              set({ strategy: value, ...(value === "first" ? { preempt: false } : {}) })
            }
          >
            <option value="first">first come</option>
            <option value="priority">highest priority</option>
          </select>
        </label>
        {time("retryInitial", "Retry, first")}
        {time("retryMax", "Retry, longest")}
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
  return typeof value === "number" && value >= 1 ? duration(value) : String(value);
}
