import type { KnownLeader } from "@tenure/client";
import type { CancelTimer, Clock, ElectorAdmin, Group, HeldBack } from "@tenure/core";
import { within } from "@tenure/core/internal";
import { tellHeldBack, tellPause } from "./held-back.js";
import type { Report, RunReport } from "./run-report.js";

export interface StandingParts {
  readonly elector: ElectorAdmin;
  readonly groupId: string;
  readonly nodeId: string;
  readonly clock: Clock;
  readonly report: Report;
}

export interface LostCampaign {
  readonly leader: { readonly nodeId: string; readonly term: number } | null;
  readonly heldBack?: HeldBack;
  readonly heldBackForMs?: number;
}

/** A normal failover is over sooner, and is not reported as a vacancy. */
const VACANCY_MS = 500;
const QUESTION_MS = 2000;

/**
 * Reports what a node that does not lead waits for: another leader, or whatever holds the group back. Each state is reported once. A
 * campaign that waits in the queue is not answered when an operator pauses the group, so after a vacancy this asks for the group.
 */
export class StandingTeller {
  readonly #parts: StandingParts;
  readonly #ending = new AbortController();
  #key = "";
  #text: string | null = null;
  #cancel: CancelTimer = () => {};
  #asking: Promise<void> = Promise.resolve();

  constructor(parts: StandingParts) {
    this.#parts = parts;
  }

  /** Why this node does not lead, as far as is known. */
  async text(): Promise<string | null> {
    await this.#asking;
    return this.#text;
  }

  /** A campaign was answered. */
  lost({ leader, heldBack, heldBackForMs }: LostCampaign): void {
    this.#cancel();
    if (leader !== null) this.#led(leader.nodeId, leader.term);
    else if (heldBack === "paused") this.#ask(() => this.#paused(null, heldBackForMs));
    else if (heldBack !== undefined) this.#held(heldBack, heldBackForMs);
  }

  /** The watch shows another leader, or none. */
  changed({ nodeId, term }: KnownLeader): void {
    this.#cancel();
    if (nodeId === null) this.#cancel = this.#parts.clock.after(VACANCY_MS, () => this.#ask(() => {}));
    // This node's own election is reported by itself; another start of this node is seen by a lost campaign.
    else if (nodeId !== this.#parts.nodeId) this.#led(nodeId, term);
  }

  /** This node leads. */
  elected(): void {
    this.#cancel();
    this.#key = "elected";
    this.#text = null;
  }

  /** The election has ended; a question that was asked may still be answered. */
  stopped(): void {
    this.#cancel();
  }

  close(): void {
    this.#cancel();
    this.#ending.abort();
  }

  #led(leaderId: string, term: number): void {
    const { groupId, nodeId } = this.#parts;
    const leader = leaderId === nodeId ? `another start of ${nodeId}` : leaderId;
    this.#tell(`led ${leaderId} ${term}`, {
      event: "waiting",
      message: `${leader} leads ${groupId} in term ${term}`,
      fields: { leader: leaderId, term },
    });
  }

  #held(heldBack: Exclude<HeldBack, "paused">, forMs: number | undefined): void {
    const { groupId, nodeId } = this.#parts;
    this.#tell(`held ${heldBack}`, {
      event: "held_back",
      message: tellHeldBack(heldBack, groupId, nodeId, forMs),
      fields: { held_back: heldBack, for_ms: forMs ?? null },
    });
  }

  /** A caller that may campaign need not be allowed to read the group: `refused` is called then. */
  #ask(refused: () => void): void {
    const { elector, groupId, clock } = this.#parts;
    const { signal } = this.#ending;
    const before = this.#key;
    this.#asking = within(clock, { limitMs: QUESTION_MS, signal }, (limit) =>
      elector.group(groupId, { signal: limit }),
    ).then(
      (group) => {
        // Something newer was reported meanwhile.
        if (this.#key === before && !signal.aborted) this.#group(group);
      },
      () => {
        if (this.#key === before && !signal.aborted) refused();
      },
    );
  }

  #group({ leader, pausedForMs, pause, heldBack, bans }: Group): void {
    const ban = bans.find(({ nodeId }) => nodeId === this.#parts.nodeId);
    if (leader !== null) this.#led(leader.nodeId, leader.term);
    else if (pausedForMs !== null)
      this.#paused(pause, pausedForMs === "until-resumed" ? undefined : pausedForMs);
    else if (heldBack !== null) this.#held(heldBack.by, heldBack.forMs);
    else if (ban !== undefined) this.#held("banned", ban.forMs);
    else this.#vacant();
  }

  #paused(pause: Group["pause"], forMs: number | undefined): void {
    const { by = null, reason = null, sinceMs = null } = pause ?? {};
    this.#tell("paused", {
      event: "paused",
      message: tellPause(this.#parts.groupId, pause, forMs),
      fields: { held_back: "paused", for_ms: forMs ?? null, by, reason, since_ms: sinceMs },
    });
  }

  #vacant(): void {
    const { groupId } = this.#parts;
    this.#tell("vacant", { event: "waiting", message: `${groupId} has no leader`, fields: { leader: null } });
  }

  #tell(key: string, { event, message, fields }: RunReport): void {
    this.#text = message;
    if (key === this.#key) return;
    this.#key = key;
    this.#parts.report({ event, message: `${message}; waiting`, fields });
  }
}
