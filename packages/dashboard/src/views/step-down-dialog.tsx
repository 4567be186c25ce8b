import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { parseDuration } from "../model/format.js";
import { ActDialog } from "./act-dialog.js";
import type { ActProps } from "./acts.js";
import { DurationField } from "./duration-field.js";

export function StepDownDialog({ group, send, onClose }: ActProps): JSX.Element {
  const [force, setForce] = useState(false);
  const [ban, setBan] = useState("");
  const leader = group.leader?.node_id ?? "the leader";
  const banMs = ban.trim() === "" ? 0 : parseDuration(ban);
  const consequence = force
    ? `The group is free at once, while ${leader} may still believe that it leads. Only fencing by the term can then refuse its late writes.`
    : `${leader} can no longer renew. The group is free when it resigns, or when its lease expires.`;
  const act = (reason: string): Promise<void> =>
    send({
      verb: "/step-down",
      body: {
        reason,
        ...(force ? { force } : {}),
        ...(banMs === null || banMs === 0 ? {} : { ban_ms: banMs }),
      },
      done: force ? `${leader} was made to step down.` : `${leader} was asked to step down.`,
    });
  return (
    <ActDialog
      title={`Make ${leader} step down`}
      consequence={consequence}
      confirm="Step down"
      isGrave
      problem={banMs === null ? "The ban must be a duration, such as 30s or 5m." : null}
      act={act}
      onClose={onClose}
    >
      <DurationField
        label={`Keep ${leader} from winning for`}
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
        Do not wait for the lease to expire
      </label>
    </ActDialog>
  );
}
