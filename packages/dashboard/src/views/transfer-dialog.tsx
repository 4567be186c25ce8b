import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Member } from "../model/wire.js";
import { ActDialog } from "./act-dialog.js";
import type { ActProps } from "./acts.js";

const TIMEOUT_MS = 10_000;

export function TransferDialog({
  group,
  members,
  send,
  onClose,
}: ActProps & { members: readonly Member[] }): JSX.Element {
  const candidates = members.filter(({ role }) => role === "candidate");
  // A cold candidate is offered last, and has to be allowed.
  const offered = [...candidates.filter(({ ready }) => ready), ...candidates.filter(({ ready }) => !ready)];
  const [to, setTo] = useState(offered[0]?.node_id ?? "");
  const [allowCold, setAllowCold] = useState(false);
  const isCold = offered.some(({ node_id, ready }) => node_id === to && !ready);
  const leader = group.leader?.node_id ?? "the leader";
  return (
    <ActDialog
      title="Transfer the leadership"
      consequence={`${leader} is asked to hand over to the successor, which must be waiting. If it does not hand over within ten seconds, nothing changes.`}
      confirm={to === "" ? "Transfer" : `Transfer to ${to}`}
      problem={
        to === ""
          ? "Name the successor."
          : isCold && !allowCold
            ? `${to} is still preparing. Wait until it is ready, or allow the transfer to it.`
            : null
      }
      act={(reason) =>
        send({
          verb: "/transfer",
          body: {
            to_node_id: to,
            timeout_ms: TIMEOUT_MS,
            ...(isCold && allowCold ? { allow_cold: true } : {}),
            reason,
          },
          done: `${to} leads now.`,
          patienceMs: TIMEOUT_MS + 5000,
        })
      }
      onClose={onClose}
    >
      <label class="field">
        <span>Successor</span>
        <input
          name="successor"
          list="candidates"
          autocomplete="off"
          value={to}
          onInput={(event) => setTo(event.currentTarget.value.trim())}
        />
        <datalist id="candidates">
          {offered.map(({ node_id, ready }) => (
            <option key={node_id} value={node_id} label={ready ? node_id : `${node_id} (preparing)`} />
          ))}
        </datalist>
      </label>
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
