import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { groupPath } from "../live/api.js";
import type { Dashboard } from "../live/dashboard.js";
import type { GroupDetail } from "../live/group-detail.js";
import type { Group, Member } from "../model/wire.js";
import { ActDialog } from "./act-dialog.js";
import { PauseDialog } from "./pause-dialog.js";
import { PolicyDialog } from "./policy-dialog.js";
import { StepDownDialog } from "./step-down-dialog.js";
import { TransferDialog } from "./transfer-dialog.js";

export interface ActsProps {
  readonly dashboard: Dashboard;
  readonly detail: GroupDetail;
  readonly group: Group;
  readonly members: readonly Member[];
  readonly say: (text: string) => void;
}

/** What every dialog of an act is given. */
export interface ActProps {
  readonly group: Group;
  /** Sends it; resolves when the service has said yes. */
  readonly send: (act: Act) => Promise<void>;
  readonly onClose: () => void;
}

export interface Act {
  /** POST unless it says otherwise. */
  readonly method?: "PATCH";
  /** After the group's path: "/pause". */
  readonly verb: string;
  readonly body: object;
  /** What is said when it is done. */
  readonly done: string;
  readonly patienceMs?: number;
}

type Kind = "step-down" | "transfer" | "pause" | "resume" | "policy";

export function Acts({ dashboard, detail, group, members, say }: ActsProps): JSX.Element | null {
  const [open, setOpen] = useState<Kind | null>(null);
  const { reader } = dashboard;
  if (reader === null) return null;
  if (reader.role !== "admin") {
    return (
      <p class="acts muted small">
        Only an admin may act on this group; you are {reader.name},{" "}
        {reader.role === "node" ? "a node" : "an observer"}.
      </p>
    );
  }
  const send = async ({ method, verb, body, done, patienceMs }: Act): Promise<void> => {
    await dashboard.api.send(method ?? "POST", groupPath(group.group_id, verb), body, patienceMs);
    say(done);
    detail.refresh();
  };
  const props: ActProps = { group, send, onClose: () => setOpen(null) };
  const isLive = dashboard.status.kind === "live";
  const pick = (kind: Kind): void => {
    say("");
    setOpen(kind);
  };
  const button = (kind: Kind, text: string, isPossible = true): JSX.Element => (
    <button type="button" disabled={!isLive || !isPossible} onClick={() => pick(kind)}>
      {text}
    </button>
  );
  return (
    <div class="acts" role="group" aria-label="Acts on this group">
      {button("step-down", "Step down …", group.leader !== null)}
      {button("transfer", "Transfer …", group.leader !== null)}
      {group.paused ? button("resume", "Resume …") : button("pause", "Pause …")}
      {button("policy", "Edit policy …")}
      {open === "step-down" && <StepDownDialog {...props} />}
      {open === "transfer" && <TransferDialog {...props} members={members} />}
      {open === "pause" && <PauseDialog {...props} />}
      {open === "policy" && <PolicyDialog {...props} />}
      {open === "resume" && (
        <ActDialog
          title={`Resume ${group.group_id}`}
          consequence="Candidates can win again."
          confirm="Resume"
          act={(reason) =>
            send({ verb: "/resume", body: { reason }, done: "Resumed: candidates can win again." })
          }
          onClose={props.onClose}
        />
      )}
    </div>
  );
}
