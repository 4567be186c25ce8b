import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { groupPath } from "../live/api.js";
import { ActDialog } from "./act-dialog.js";
import type { ActProps } from "./acts.js";

export function DeleteDialog({ group, target, send, onClose }: ActProps): JSX.Element {
  const [typed, setTyped] = useState("");
  // As it was when the dialog was opened: a leader that appears meanwhile makes the service refuse.
  const [isLed] = useState(group.leader !== null);
  const { group_id } = group;
  return (
    <ActDialog
      title={`Delete ${group_id}`}
      consequence="The group, its policy and its history are deleted. The last term is kept, so that a new group with this id continues above it."
      confirm="Delete"
      isGrave
      reason="optional"
      problem={typed.trim() === group_id ? null : `Type ${group_id} to confirm.`}
      act={({ field, option }) => ({
        method: "DELETE",
        path: groupPath(group_id, queryOf({ ...(isLed ? { force: "true" } : {}), ...field })),
        command: ["groups", "delete", group_id, ...(isLed ? ["--force"] : []), ...option],
      })}
      target={target}
      send={(act) => send(act, `${group_id} was deleted.`)}
      onClose={onClose}
    >
      {isLed && (
        <div class="danger" role="note">
          <strong>{group.leader?.node_id} leads this group.</strong> It loses its lease, and learns of it only
          at its next renewal.
        </div>
      )}
      <label class="field">
        <span>
          Type <b>{group_id}</b> to confirm
        </span>
        <input
          name="confirm"
          autocomplete="off"
          spellcheck={false}
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
    </ActDialog>
  );
}

function queryOf(fields: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(fields).toString();
  return query === "" ? "" : `?${query}`;
}
