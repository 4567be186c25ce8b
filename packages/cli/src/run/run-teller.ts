import type { DemoteReason, ElectionEvent } from "@tenure/client";
import type { Shell } from "../frame/shell.js";

const ENDS: Readonly<Record<DemoteReason, string>> = {
  stopped: "it was told to end",
  finished: "its command has ended",
  resigned: "it resigned",
  lapsed: "its lease ran out before a renewal was answered",
  "not-leader": "another leads, or it was told to step down",
  transferred: "it hands over to a successor",
  unhealthy: "its health command fails",
  disconnected: "nobody answers",
  "heartbeat-failed": "its renewals fail",
  refused: "its renewals are refused",
  "token-invalid": "another leads",
  "promote-failed": "its command could not be started",
  "heart-failed": "its lease can no longer be renewed",
};

/** What `tenure run` says besides its command: who leads, why no more, and that nobody answers. */
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
    // That it was told to end is no news to who told it.
    else if (event.kind === "demoted" && event.reason !== "stopped") {
      const { reason, mandate } = event;
      const line = `${this.#nodeId} leads ${this.#groupId} no more, term ${mandate.term}: ${ENDS[reason]}`;
      this.#shell.remark(line, { is_leader: false, term: mandate.term, reason });
    }
  }

  #connection(isCutOff: boolean): void {
    if (isCutOff === this.#isCutOff) return;
    this.#isCutOff = isCutOff;
    this.#shell.remark(isCutOff ? "nobody answers; still trying" : "answered again", {
      is_cut_off: isCutOff,
    });
  }
}
