import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { groupPath } from "../live/api.js";
import { parseDuration, written } from "../model/format.js";
import { ActDialog } from "./act-dialog.js";
import type { ActProps } from "./acts.js";
import { DurationField } from "./duration-field.js";

export function StepDownDialog({ group, target, send, onClose }: ActProps): JSX.Element {
  const [force, setForce] = useState(false);
  const [ban, setBan] = useState("");
  const { group_id } = group;
  const leader = group.leader?.node_id ?? "the leader";
  const banMs = ban.trim() === "" ? 0 : parseDuration(ban);
  const isBanned = banMs !== null && banMs > 0;
  return (
    <ActDialog
      title={`Make ${leader} step down`}
      consequence={`${leader} can no longer renew. The group is free when it resigns, or when its lease expires.`}
      confirm={force ? "Step down at once" : "Step down"}
      isGrave
      reason="required"
      problem={banMs === null ? "The ban must be a duration, such as 30s or 5m." : null}
      act={({ field, option }) => ({
        method: "POST",
        path: groupPath(group_id, "/step-down"),
        body: { ...field, ...(force ? { force } : {}), ...(isBanned ? { ban_ms: banMs } : {}) },
        command: [
          ...["step-down", group_id],
          ...(isBanned ? ["--ban", written(banMs)] : []),
          ...(force ? ["--force"] : []),
          ...option,
        ],
      })}
      target={target}
      send={(act) =>
        send(act, force ? `${leader} was made to step down.` : `${leader} was asked to step down.`)
      }
      onClose={onClose}
    >
      <DurationField
        label={`Ban ${leader} from winning for`}
        hint="empty: no ban"
        value={ban}
        onChange={setBan}
      />
      <label class="check">
        <input
          type="checkbox"
          name="force"
          checked={force}
          onChange={(event) => setForce(event.currentTarget.checked)}
        />
        Force: do not wait for the lease to expire
      </label>
      {force && (
        <div class="danger" role="note">
          <strong>Two nodes may act as leader at the same time.</strong> The group is free at once, while{" "}
          {leader} may still believe that it leads. Only resources that check the term will refuse its late
          writes.
        </div>
      )}
    </ActDialog>
  );
}
