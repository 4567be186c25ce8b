import type { JSX } from "preact";
import { duration } from "../model/format.js";
import type { OperatorAct } from "../model/wire.js";

/** What an operator did, in words; the reason stands beside it. */
function actText({ act, node_id, for_ms, force, changes }: OperatorAct): string {
  const leader = node_id ?? "the leader";
  switch (act) {
    case "create":
      return "created the group";
    case "update":
      return `changed the policy${changes === undefined || changes.length === 0 ? "" : `: ${changes.join(", ")}`}`;
    case "delete":
      return `deleted the group${force === true ? " although it was led" : ""}`;
    case "step-down": {
      const ban = for_ms === undefined ? "" : `, banned for ${duration(for_ms)}`;
      return `${force === true ? `made ${leader} step down at once` : `asked ${leader} to step down`}${ban}`;
    }
    case "transfer":
      return `transferred the leadership${node_id === undefined ? "" : ` to ${node_id}`}`;
    case "pause":
      return `paused the group ${for_ms === undefined ? "until resumed" : `for ${duration(for_ms)}`}`;
    case "resume":
      return "resumed the group";
  }
}

export function ActWords({ act }: { act: OperatorAct }): JSX.Element {
  return (
    <>
      <strong>{act.by}</strong> {actText(act)}
      <span class="why">{act.reason === null ? "no reason given" : `“${act.reason}”`}</span>
    </>
  );
}
