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
  const candidates = members.filter(({ role }) => role === "candidate").map(({ node_id }) => node_id);
  const [to, setTo] = useState(candidates[0] ?? "");
  const leader = group.leader?.node_id ?? "the leader";
  return (
    <ActDialog
      title="Transfer the leadership"
      consequence={`${leader} is asked to hand over to the successor, which must be waiting. If it does not yield within ten seconds, nothing changes.`}
      confirm={to === "" ? "Transfer" : `Transfer to ${to}`}
      problem={to === "" ? "Name the successor." : null}
      act={(reason) =>
        send({
          verb: "/transfer",
          body: { to_node_id: to, timeout_ms: TIMEOUT_MS, reason },
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
          {candidates.map((id) => (
            <option key={id} value={id} />
          ))}
        </datalist>
      </label>
    </ActDialog>
  );
}
