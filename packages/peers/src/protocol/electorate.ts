/**
 * How the electorate follows the active membership: one member per step. Pure.
 *
 * Invariant: an elector is removed for silence only if the leader has heard from it in neither direction for a member's
 * lease: no announcement arrived, and it granted no round. So no step removes an elector whose grants give the leader
 * its lease: even if connections fail in one direction only, a majority that can grant remains in the electorate.
 */
import { memberOf, type Members } from "./configuration.js";
import type { ActiveMember, Configuration } from "./messages.js";

export interface Wishes {
  readonly active: readonly ActiveMember[];
  /** Servers that left voluntarily. */
  readonly left: readonly string[];
  /** Servers that granted the leader's latest round, and the endpoint that was asked. */
  readonly reached: ReadonlyMap<string, ActiveMember>;
  /** Electors that granted a round within the last `MEMBER_LEASES` ttl, or that had no such time yet in this term. */
  readonly heard: ReadonlySet<string>;
}

/** The length of a member's lease, in leases of the leader. A server that is silent for longer has expired. */
export const MEMBER_LEASES = 3;

/**
 * The members after the next step, or `null` if there is nothing to do. In this order: a member that left is removed; a
 * member that returned with another disk is removed, to be added again; a server that announced itself and can be
 * reached is added; a member that moved gets its new endpoint; a member that expired in both directions is removed, if
 * that brings the electorate to an odd number. A leader never removes itself.
 */
export function nextMembers(config: Configuration, leaderId: string, wishes: Wishes): Members | null {
  const { members } = config;
  const others = Object.keys(members)
    .filter((identity) => identity !== leaderId)
    .toSorted();
  const active = new Map(wishes.active.map((member) => [member.identity, member]));
  // Of two servers under one identity, each would be removed and added for ever: the existing voter stays.
  const uncontested = wishes.active.filter(({ contested }) => contested !== true);
  const announcedBy = new Map(uncontested.map((member) => [member.identity, member]));

  const gone = others.find((identity) => wishes.left.includes(identity));
  if (gone !== undefined) return without(members, gone);

  const replaced = others.find((identity) => {
    const announced = announcedBy.get(identity);
    return announced !== undefined && announced.disk !== memberOf(members, identity)?.disk;
  });
  if (replaced !== undefined) return without(members, replaced);

  const reachable = uncontested
    .filter((member) => isReached(member, wishes) && !wishes.left.includes(member.identity))
    .toSorted((a, b) => (a.identity < b.identity ? -1 : 1));
  const arrived = reachable.find(({ identity }) => memberOf(members, identity) === undefined);
  if (arrived !== undefined) return withMember(members, arrived);

  const moved = reachable.find(
    ({ identity, endpoint }) => memberOf(members, identity)?.endpoint !== endpoint,
  );
  if (moved !== undefined) return withMember(members, moved);

  const expired = others.filter((identity) => !active.has(identity) && !wishes.heard.has(identity));
  return isWorthRemoving(Object.keys(members).length, expired.length)
    ? without(members, expired[0] as string)
    : null;
}

/**
 * From 4 to 3, or two from 5: an even electorate tolerates no more failures than the odd one below it, and from 3 to 2
 * nothing is gained.
 */
function isWorthRemoving(size: number, expired: number): boolean {
  return size % 2 === 0 ? expired >= 1 : expired >= 2;
}

function isReached({ identity, endpoint, disk }: ActiveMember, { reached }: Wishes): boolean {
  const granted = reached.get(identity);
  return granted !== undefined && granted.endpoint === endpoint && granted.disk === disk;
}

function without(members: Members, identity: string): Members {
  return Object.fromEntries(Object.entries(members).filter(([each]) => each !== identity));
}

function withMember(members: Members, { identity, endpoint, disk }: ActiveMember): Members {
  return { ...members, [identity]: { endpoint, disk } };
}
