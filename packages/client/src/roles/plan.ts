/**
 * What one process does about its roles: which it campaigns for, and which it gives up. A pure rule; every process
 * applies it to what it sees, and processes that see the same come to the same result.
 *
 * A unit is what must be led by one process: a role, or several that depend on each other or form a set. Each process
 * has a share of the units by weight. A unit changes its leader only if it has none, or if its leader has more than its
 * share and another process less, so as few units as possible move. Each vacant unit falls to the process that it suits
 * best among those with less than their share; if that process takes nothing for too long, any process with room may
 * take it.
 */
import { rendezvousScore } from "@tenure/core/internal";
import { shares } from "./shares.js";
import type { RoleMember } from "./state.js";

export interface PlanUnit {
  readonly id: string;
  /** The number of its roles. */
  readonly size: number;
  readonly priority: number;
  /** `here`: this process campaigns for it or leads it. `unknown`: between two leaders, or no news yet. */
  readonly owner: "here" | "vacant" | "unknown" | { readonly nodeId: string };
  /** Since when it has been vacant, if it is. */
  readonly vacantSinceMs: number;
  /**
   * Taken although it fell to another process, which did not take it. It is not given up for that process; otherwise it
   * would be vacant again.
   */
  readonly isStray: boolean;
}

export interface PlanView {
  readonly nowMs: number;
  readonly self: string;
  /** If this process is not among them, it takes nothing and gives up nothing. */
  readonly members: readonly RoleMember[];
  readonly units: readonly PlanUnit[];
  /** When each member last won something, or was first seen. */
  readonly activeAtMs: ReadonlyMap<string, number>;
  /** A vacant unit that falls to a member that has won nothing for this time may be taken by any process. */
  readonly patienceMs: number;
}

export interface Plan {
  /** Most urgent first. */
  readonly take: readonly PlanUnit[];
  /** Least needed first. */
  readonly release: readonly PlanUnit[];
  /** The number of roles that fall to this process. */
  readonly share: number;
  /** When the plan changes without any news; `Infinity` if it does not. */
  readonly againInMs: number;
}

export function plan(view: PlanView): Plan {
  const { self, members, units } = view;
  const total = units.reduce((sum, { size }) => sum + size, 0);
  const shareOf = shares(total, members);
  const share = shareOf.get(self) ?? 0;
  const me = members.find(({ nodeId }) => nodeId === self);
  if (me === undefined) return { take: [], release: [], share, againInMs: Number.POSITIVE_INFINITY };
  const loads = loadsOf(self, units);
  const rooms = new Map(
    members.map(({ nodeId }) => [nodeId, (shareOf.get(nodeId) ?? 0) - (loads.get(nodeId) ?? 0)]),
  );
  const vacant = units.filter(({ owner }) => owner === "vacant").toSorted(byUrgency);
  const lacking = sumOf(
    [...rooms].filter(([nodeId, room]) => nodeId !== self && room > 0).map(([, room]) => room),
  );
  const strays = sumOf(
    units.filter(({ owner, isStray }) => owner === "here" && isStray).map(({ size }) => size),
  );
  const tooMany = (loads.get(self) ?? 0) - strays - share;
  const excess = Math.min(tooMany, lacking - sumOf(vacant.map(({ size }) => size)));
  const release = excess > 0 ? toRelease(view, me, excess) : [];
  return { release, share, ...toTake(view, me, vacant, rooms, loads.get(self) ?? 0) };
}

function loadsOf(self: string, units: readonly PlanUnit[]): Map<string, number> {
  const loads = new Map<string, number>();
  for (const { owner, size } of units) {
    if (owner === "vacant" || owner === "unknown") continue;
    // A lease of a former start of this process expires by itself; it is not this one's.
    if (owner !== "here" && owner.nodeId === self) continue;
    const nodeId = owner === "here" ? self : owner.nodeId;
    loads.set(nodeId, (loads.get(nodeId) ?? 0) + size);
  }
  return loads;
}

function toTake(
  { nowMs, self, members, activeAtMs, patienceMs }: PlanView,
  me: RoleMember,
  vacant: readonly PlanUnit[],
  rooms: Map<string, number>,
  load: number,
): { take: readonly PlanUnit[]; againInMs: number } {
  const take: PlanUnit[] = [];
  let againInMs = Number.POSITIVE_INFINITY;
  let mine = load;
  for (const unit of vacant) {
    const taker = suited(unit, members, rooms);
    if (taker !== null) rooms.set(taker.nodeId, (rooms.get(taker.nodeId) ?? 0) - unit.size);
    if (mine + unit.size > me.maxRoles) continue;
    const isMine = taker?.nodeId === self;
    const activeMs = taker === null ? unit.vacantSinceMs : (activeAtMs.get(taker.nodeId) ?? nowMs);
    const waitedMs = nowMs - Math.max(unit.vacantSinceMs, activeMs);
    if (isMine || waitedMs >= patienceMs) {
      take.push(isMine ? unit : { ...unit, isStray: true });
      mine += unit.size;
    } else {
      againInMs = Math.min(againInMs, patienceMs - waitedMs);
    }
  }
  return { take, againInMs };
}

/** Of the processes with room for all of it, the one that it suits best; if there is none, the one with the most room. */
function suited(
  { id, size }: PlanUnit,
  members: readonly RoleMember[],
  rooms: ReadonlyMap<string, number>,
): RoleMember | null {
  const roomOf = ({ nodeId }: RoleMember) => rooms.get(nodeId) ?? 0;
  const fitting = members.filter((member) => roomOf(member) >= size);
  const most = Math.max(...members.map(roomOf));
  const candidates =
    fitting.length > 0 ? fitting : members.filter((each) => roomOf(each) === most && most > 0);
  if (candidates.length <= 1) return candidates[0] ?? null;
  return candidates.reduce((best, each) =>
    rendezvousScore(id, each.nodeId, each.weight) > rendezvousScore(id, best.nodeId, best.weight)
      ? each
      : best,
  );
}

function toRelease({ units }: PlanView, { nodeId, weight }: RoleMember, excess: number): readonly PlanUnit[] {
  const release: PlanUnit[] = [];
  let left = excess;
  const suits = ({ id }: PlanUnit) => rendezvousScore(id, nodeId, weight);
  const held = units
    .filter(({ owner, isStray }) => owner === "here" && !isStray)
    .map((unit) => ({ unit, suits: suits(unit) }))
    .toSorted((one, other) => one.unit.priority - other.unit.priority || one.suits - other.suits);
  for (const { unit } of held) {
    // A unit larger than the excess would come back.
    if (unit.size > left) continue;
    release.push(unit);
    left -= unit.size;
  }
  return release;
}

function byUrgency(one: PlanUnit, other: PlanUnit): number {
  return other.priority - one.priority || (one.id < other.id ? -1 : 1);
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
