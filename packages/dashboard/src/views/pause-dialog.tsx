import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { duration, parseDuration } from "../model/format.js";
import { ActDialog } from "./act-dialog.js";
import type { ActProps } from "./acts.js";
import { DurationField } from "./duration-field.js";

export function PauseDialog({ group, send, onClose }: ActProps): JSX.Element {
  const [text, setText] = useState("");
  const forMs = text.trim() === "" ? null : parseDuration(text);
  const isWrong = text.trim() !== "" && (forMs === null || forMs < 1);
  const act = (reason: string): Promise<void> =>
    send({
      verb: "/pause",
      body: { reason, ...(forMs === null ? {} : { for_ms: forMs }) },
      done: forMs === null ? "Paused until resumed." : `Paused for ${duration(forMs)}.`,
    });
  return (
    <ActDialog
      title={`Pause ${group.group_id}`}
      consequence="The leader may stay and renew. After it has gone, no node can win until the pause ends."
      confirm="Pause"
      isGrave
      problem={isWrong ? "The pause must be a duration, such as 30s or 5m." : null}
      act={act}
      onClose={onClose}
    >
      <DurationField label="For" hint="empty: until resumed" value={text} onChange={setText} />
    </ActDialog>
  );
}
