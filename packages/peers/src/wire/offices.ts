/**
 * What a server may ask by its office. The certificate says who the caller is (`Callers`); what the caller is in this cluster
 * stands in this server's own records: its electorate, its membership and its vote.
 *
 * The rule for a coordinator's requests: the caller is the leader of that term as this server knows it, by its own vote or
 * by what the others answered when it asked them. So whatever bounds the terms of votes bounds those of decisions too, and
 * no server can fence a coordinator by a term that nobody was elected for. A term below that of the vote is left to the log
 * and the resource manager, which know the highest that they have obeyed.
 */
import type { Socket } from "node:net";
import type { Configuration, MembershipView, Vote } from "../protocol/messages.js";
import type { Callers } from "./callers.js";
import { WireError } from "./wire-error.js";

export interface OfficeParts {
  readonly callers: Callers;
  readonly membership: Pick<MembershipView, "active">;
  /** The electorate as this server knows it. */
  readonly electorate: () => Configuration | null;
  /** As it is on disk. */
  readonly vote: () => Vote | null;
  /** Who leads as far as this server knows. A restarted server knows it before it may vote for it. */
  readonly observed: () => { readonly leaderId: string; readonly term: number } | null;
}

export class Offices {
  readonly #parts: OfficeParts;

  constructor(parts: OfficeParts) {
    this.#parts = parts;
  }

  /**
   * A server that asks for a lease of `cluster`: an elector, or an active member. While this server has no electorate, or the
   * request is of another cluster, the vote itself decides (and names the reason).
   */
  candidate(socket: Socket, claimed: string, cluster: string): void {
    const { callers, electorate, membership } = this.#parts;
    callers.self(socket, claimed);
    const config = electorate();
    if (config === null || config.cluster !== cluster || isElector(config, claimed)) return;
    if (membership.active().some(({ identity }) => identity === claimed)) return;
    throw new WireError(
      "tc_forbidden",
      `${claimed} is neither an elector nor an active member of this cluster; it must announce itself first`,
    );
  }

  /** The coordinator of `term` in this server's own cluster; an elector, if the term is below that of the vote. */
  coordinator(socket: Socket, cluster: string, term: number): void {
    const { callers, electorate, vote, observed } = this.#parts;
    const caller = callers.server(socket);
    const config = electorate();
    if (config === null) {
      throw new WireError("tc_unavailable", "this server belongs to no cluster yet; ask again");
    }
    if (config.cluster !== cluster) {
      throw new WireError(
        "tc_forbidden",
        `this server is of the cluster ${config.cluster}, not of ${cluster}`,
      );
    }
    if (!isElector(config, caller)) {
      throw new WireError("tc_forbidden", `${caller} is no elector of this cluster, so it cannot coordinate`);
    }
    const held = vote();
    if (held !== null && (term < held.term || (term === held.term && caller === held.holderId))) return;
    const leader = observed();
    if (leader?.leaderId === caller && leader.term === term) return;
    throw new WireError(
      "tc_forbidden",
      `${caller} is not known here as the coordinator of term ${term}, and the vote of this server is for term ${held?.term ?? 0}`,
    );
  }
}

function isElector({ members }: Configuration, identity: string): boolean {
  return Object.hasOwn(members, identity);
}
