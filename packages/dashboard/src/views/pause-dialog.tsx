import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { groupPath } from "../live/api.js";
import { duration, parseDuration, written } from "../model/format.js";
import { ActDialog } from "./act-dialog.js";
import type { ActProps } from "./acts.js";
import { DurationField } from "./duration-field.js";

export function PauseDialog({ group: { group_id }, target, send, onClose }: ActProps): JSX.Element {
  const [text, setText] = useState("");
  const forMs = text.trim() === "" ? null : parseDuration(text);
  const isWrong = text.trim() !== "" && (forMs === null || forMs < 1);
  return (
    <ActDialog
      title={`Pause ${group_id}`}
      consequence="The leader may stay and renew. After it has gone, no node can win until the pause ends."
      confirm="Pause"
      isGrave
      reason="optional"
      problem={isWrong ? "The pause must be a duration, such as 30s or 5m." : null}
      act={({ field, option }) => ({
        method: "POST",
        path: groupPath(group_id, "/pause"),
        body: { ...field, ...(forMs === null ? {} : { for_ms: forMs }) },
        command: ["pause", group_id, ...(forMs === null ? [] : ["--for", written(forMs)]), ...option],
      })}
      target={target}
      send={(act) => send(act, forMs === null ? "Paused until resumed." : `Paused for ${duration(forMs)}.`)}
      onClose={onClose}
    >
      <DurationField label="For" hint="empty: until resumed" value={text} onChange={setText} />
    </ActDialog>
  );
}
