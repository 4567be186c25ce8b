import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { groupPath } from "../live/api.js";
import type { Dashboard } from "../live/dashboard.js";
import type { GroupDetail } from "../live/group-detail.js";
import type { Act, Target } from "../model/act.js";
import type { Group, MemberHealth } from "../model/wire.js";
import { ActDialog } from "./act-dialog.js";
import { DeleteDialog } from "./delete-dialog.js";
import { PauseDialog } from "./pause-dialog.js";
import { PolicyDialog } from "./policy-dialog.js";
import { StepDownDialog } from "./step-down-dialog.js";
import { TransferDialog } from "./transfer-dialog.js";

export interface ActsProps {
  readonly dashboard: Dashboard;
  readonly detail: GroupDetail;
  readonly group: Group;
  readonly members: readonly MemberHealth[];
  readonly say: (said: Said) => void;
}

/** What the page says about an act: that it is done, or why it is not possible. */
export interface Said {
  readonly text: string;
  readonly kind: "good" | "warn";
}

/** What every dialog of an act is given. */
export interface ActProps {
  readonly group: Group;
  readonly target: Target;
  /** Sends it; resolves when the service has said yes. `done` is what is then said. */
  readonly send: (act: Act, done: string, patienceMs?: number) => Promise<void>;
  readonly onClose: () => void;
}

type Kind = "step-down" | "transfer" | "pause" | "resume" | "policy" | "delete";

const NO_LEADER = "The group has no leader.";

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
  const send = async (act: Act, done: string, patienceMs?: number): Promise<void> => {
    await dashboard.api.send(act, patienceMs);
    say({ text: done, kind: "good" });
    detail.refresh();
  };
  const props: ActProps = { group, target: dashboard.target(), send, onClose: () => setOpen(null) };
  const lost = dashboard.status.kind === "live" ? null : "The connection to the server is lost.";
  /** A button that cannot be used stays reachable, and says why when it is tried. */
  const button = (kind: Kind, text: string, obstacle: string | null = null): JSX.Element => {
    const why = lost ?? obstacle;
    return (
      <button
        type="button"
        aria-disabled={why !== null}
        title={why ?? undefined}
        onClick={() => {
          say({ text: why ?? "", kind: "warn" });
          if (why === null) setOpen(kind);
        }}
      >
        {text}
      </button>
    );
  };
  const isVacant = group.leader === null;
  const hasSuccessor = members.some(({ role, state }) => role === "candidate" && state !== "down");
  return (
    <div class="acts" role="group" aria-label="Acts on this group">
      {button("step-down", "Step down …", isVacant ? `${NO_LEADER} There is no node to step down.` : null)}
      {button(
        "transfer",
        "Transfer …",
        isVacant
          ? `${NO_LEADER} There is no node to hand over.`
          : hasSuccessor
            ? null
            : "No other node waits for the leadership, so there is no successor.",
      )}
      {group.paused ? button("resume", "Resume …") : button("pause", "Pause …")}
      {button("policy", "Edit policy …")}
      {button("delete", "Delete …")}
      {open === "step-down" && <StepDownDialog {...props} />}
      {open === "transfer" && <TransferDialog {...props} members={members} nowMs={dashboard.serverMs()} />}
      {open === "pause" && <PauseDialog {...props} />}
      {open === "policy" && <PolicyDialog {...props} />}
      {open === "delete" && <DeleteDialog {...props} />}
      {open === "resume" && (
        <ActDialog
          title={`Resume ${group.group_id}`}
          consequence="Candidates can win again."
          confirm="Resume"
          reason="optional"
          act={({ field, option }) => ({
            method: "POST",
            path: groupPath(group.group_id, "/resume"),
            body: field,
            command: ["resume", group.group_id, ...option],
          })}
          target={props.target}
          send={(act) => send(act, "Resumed: candidates can win again.")}
          onClose={props.onClose}
        />
      )}
    </div>
  );
}
