/**
 * What a server may request by its office. The certificate identifies the caller (`Callers`); the caller's office in
 * this cluster follows from this server's own records: its electorate, its membership and its vote.
 *
 * The registry is read and changed by servers of this cluster. Any other server certificate, such as that of a
 * decommissioned server or of another cluster, changes nothing in it.
 *
 * The rule for a coordinator's requests: the caller is the leader of that term as this server knows it, by its own vote
 * or by what the others answered. So the bound on the terms of votes also bounds the terms of decisions, and no server
 * can fence a coordinator by a term that was never elected. A term below that of the vote is left to the log and the
 * resource manager, which know the highest term that they have obeyed.
 */
import type { Socket } from "node:net";
import type { Membership } from "../membership/membership.js";
import type { Configuration, MembershipView, Vote } from "../protocol/messages.js";
import type { RmChange } from "../registry/rm-registry.js";
import type { Callers } from "./callers.js";
import { WireError } from "./wire-error.js";

export interface OfficeParts {
  /** This server itself. */
  readonly identity: string;
  readonly callers: Callers;
  readonly membership: Pick<MembershipView, "active"> & Pick<Membership, "departedFrom">;
  /** The electorate as this server knows it. */
  readonly electorate: () => Configuration | null;
  /** As it is on disk. */
  readonly vote: () => Vote | null;
  /** The leader as far as this server knows. A restarted server knows it before it may vote for it. */
  readonly observed: () => { readonly leaderId: string; readonly term: number } | null;
}

export class Offices {
  readonly #parts: OfficeParts;

  constructor(parts: OfficeParts) {
    this.#parts = parts;
  }

  /**
   * A server that asks for a lease of `cluster`: an elector, or an active member. While this server has no electorate,
   * or the request is of another cluster, the vote itself decides (and gives the reason).
   */
  candidate(socket: Socket, claimed: string, cluster: string): void {
    const { callers, electorate } = this.#parts;
    callers.self(socket, claimed);
    const config = electorate();
    if (config !== null && config.cluster === cluster) this.#requireMember(claimed);
  }

  /** A server that announces itself: of this cluster, or without a cluster. */
  announcer(socket: Socket, cluster: string | null): string {
    const { callers, electorate } = this.#parts;
    const caller = callers.server(socket);
    const own = electorate()?.cluster ?? cluster;
    if (cluster === null || cluster === own) return caller;
    throw new WireError(
      "tc_forbidden",
      `this server is of the cluster ${own}, and ${caller} of ${cluster}: name servers of one cluster in its join list`,
    );
  }

  /** A caller that reads the registry: a client, or a server of this cluster. */
  reader(socket: Socket): void {
    const { callers } = this.#parts;
    callers.client(socket);
    if (callers.isServer(socket)) this.#requireMember(callers.server(socket));
  }

  /** A caller that changes the registry: a server of this cluster, or one that has left it and removes itself. */
  registrar(socket: Socket, { kind, endpoint }: Pick<RmChange, "kind" | "endpoint">): void {
    const { callers, membership } = this.#parts;
    const caller = callers.server(socket);
    if (kind === "unregister" && membership.departedFrom(caller) === endpoint) return;
    this.#requireMember(caller);
  }

  /** This server itself, an elector, or an active member. */
  #requireMember(caller: string): void {
    const { identity: own, electorate, membership } = this.#parts;
    const config = electorate();
    if (caller === own || (config !== null && isElector(config, caller))) return;
    if (membership.active().some(({ identity }) => identity === caller)) return;
    throw new WireError(
      "tc_forbidden",
      `${caller} is neither an elector nor an active member of this cluster; it must announce itself first`,
    );
  }

  /** The coordinator of `term` in this server's own cluster; an elector, if the term is below that of the vote. */
  coordinator(socket: Socket, cluster: string, term: number): void {
    const { callers, electorate, vote, observed } = this.#parts;
    const caller = callers.server(socket);
    const config = electorate();
    if (config === null) {
      throw new WireError("tc_unavailable", "this server belongs to no cluster yet; retry later");
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
