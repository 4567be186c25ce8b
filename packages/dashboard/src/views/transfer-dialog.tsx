import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { groupPath } from "../live/api.js";
import { parseDuration, written } from "../model/format.js";
import type { MemberHealth } from "../model/wire.js";
import { ActDialog } from "./act-dialog.js";
import type { ActProps } from "./acts.js";
import { DurationField } from "./duration-field.js";
import { metadataText, seenAgo } from "./members-table.js";

export interface TransferDialogProps extends ActProps {
  readonly members: readonly MemberHealth[];
  readonly nowMs: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;

export function TransferDialog(props: TransferDialogProps): JSX.Element {
  const { group, members, nowMs, target, send, onClose } = props;
  const candidates = members.filter(({ role, state }) => role === "candidate" && state !== "down");
  // A cold candidate is offered last, and has to be allowed.
  const offered = [...candidates.filter(({ ready }) => ready), ...candidates.filter(({ ready }) => !ready)];
  const [to, setTo] = useState(offered[0]?.node_id ?? "");
  const [timeout, setTimeout] = useState(written(DEFAULT_TIMEOUT_MS));
  const [allowCold, setAllowCold] = useState(false);
  const isCold = offered.some(({ node_id, ready }) => node_id === to && !ready);
  const { group_id } = group;
  const leader = group.leader?.node_id ?? "the leader";
  const timeoutMs = parseDuration(timeout);
  const problem =
    to === ""
      ? "Pick the successor."
      : timeoutMs === null || timeoutMs < 1
        ? "The timeout must be a duration, such as 10s or 1m."
        : isCold && !allowCold
          ? `${to} is still preparing. Wait until it is ready, or allow the transfer to it.`
          : null;
  const waitMs = timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const isAllowed = isCold && allowCold;
  return (
    <ActDialog
      title="Transfer the leadership"
      consequence={`${leader} is asked to hand over to the successor, which must be waiting. If it does not hand over before the timeout, nothing changes.`}
      confirm={to === "" ? "Transfer" : `Transfer to ${to}`}
      reason="optional"
      problem={problem}
      act={({ field, option }) => ({
        method: "POST",
        path: groupPath(group_id, "/transfer"),
        body: { to_node_id: to, timeout_ms: waitMs, ...(isAllowed ? { allow_cold: true } : {}), ...field },
        command: [
          ...["transfer", group_id, to, "--timeout", written(waitMs)],
          ...(isAllowed ? ["--allow-cold"] : []),
          ...option,
        ],
      })}
      target={target}
      send={(act) => send(act, `${to} leads now.`, waitMs + 5000)}
      onClose={onClose}
    >
      <label class="field">
        <span>Successor</span>
        <select name="successor" value={to} onChange={(event) => setTo(event.currentTarget.value)}>
          {offered.map((member) => (
            <option key={member.node_id} value={member.node_id}>
              {describe(member, nowMs)}
            </option>
          ))}
        </select>
      </label>
      <DurationField label="Timeout" value={timeout} onChange={setTimeout} />
      {isCold && (
        <label class="check">
          <input
            type="checkbox"
            name="allow-cold"
            checked={allowCold}
            onChange={(event) => setAllowCold(event.currentTarget.checked)}
          />
          Transfer although the successor is not ready
        </label>
      )}
    </ActDialog>
  );
}

function describe(
  { node_id, role, ready, last_heartbeat_ms, metadata }: MemberHealth,
  nowMs: number,
): string {
  const parts = [role, ready ? "ready" : "preparing", `seen ${seenAgo(nowMs - last_heartbeat_ms)}`];
  return [node_id, parts.join(", "), metadataText(metadata)].filter(Boolean).join(" · ");
}
