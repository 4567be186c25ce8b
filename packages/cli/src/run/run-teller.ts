import type { DemoteReason, ElectionEvent } from "@tenure/client";
import type { Shell } from "../frame/shell.js";

const ENDS: Readonly<Record<DemoteReason, string>> = {
  stopped: "tenure run was stopped",
  finished: "command exited",
  resigned: "resigned",
  lapsed: "lease expired before a renewal succeeded",
  "not-leader": "another node leads, or the leader was asked to step down",
  transferred: "handed over to a successor",
  unhealthy: "health command failed",
  disconnected: "no response",
  "heartbeat-failed": "renewals failed",
  refused: "renewals refused",
  "token-invalid": "another node leads",
  "promote-failed": "command could not be started",
  "heart-failed": "lease can no longer be renewed",
};

/** What `tenure run` prints beside the output of its command: became leader, no longer leads and why, connection lost. */
export class RunTeller {
  readonly #shell: Shell;
  readonly #groupId: string;
  readonly #nodeId: string;
  #isCutOff = false;

  constructor(shell: Shell, groupId: string, nodeId: string) {
    this.#shell = shell;
    this.#groupId = groupId;
    this.#nodeId = nodeId;
  }

  leads(term: number): void {
    this.#shell.remark(`${this.#nodeId} leads ${this.#groupId} in term ${term}`, { is_leader: true, term });
  }

  notice(event: ElectionEvent): void {
    if (event.kind === "connection") this.#connection(event.status === "disconnected");
    // The user who stopped `tenure run` knows already.
    else if (event.kind === "demoted" && event.reason !== "stopped") {
      const { reason, mandate } = event;
      const line = `${this.#nodeId} no longer leads ${this.#groupId}, term ${mandate.term}: ${ENDS[reason]}`;
      this.#shell.remark(line, { is_leader: false, term: mandate.term, reason });
    }
  }

  #connection(isCutOff: boolean): void {
    if (isCutOff === this.#isCutOff) return;
    this.#isCutOff = isCutOff;
    this.#shell.remark(isCutOff ? "connection lost; retrying" : "connection restored", {
      is_cut_off: isCutOff,
    });
  }
}
