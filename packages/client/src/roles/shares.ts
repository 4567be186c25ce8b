import type { RoleMember } from "./state.js";

/**
 * How many of `total` roles fall to each member: in proportion to the weights, at most what each takes, in whole
 * numbers that differ by less than one from the exact share. The result is the same in every process, whatever the
 * order of the members.
 */
export function shares(total: number, members: readonly RoleMember[]): ReadonlyMap<string, number> {
  const result = new Map<string, number>();
  let left = total;
  let open = members.toSorted(byId);
  // A member that cannot take its whole share takes what it can; the others share the rest.
  for (let full: readonly RoleMember[]; ; open = open.filter((each) => !full.includes(each))) {
    const perWeight = left / sum(open.map(({ weight }) => weight));
    full = open.filter(({ weight, maxRoles }) => maxRoles <= weight * perWeight);
    if (full.length === 0 || full.length === open.length) break;
    for (const { nodeId, maxRoles } of full) {
      result.set(nodeId, maxRoles);
      left -= maxRoles;
    }
  }
  for (const [nodeId, count] of apportion(left, open)) result.set(nodeId, count);
  return result;
}

/** By largest remainder. */
function apportion(total: number, members: readonly RoleMember[]): ReadonlyMap<string, number> {
  const weights = sum(members.map(({ weight }) => weight));
  const exact = members.map(({ nodeId, weight, maxRoles }) => ({
    nodeId,
    count: Math.min(maxRoles, (total * weight) / weights),
  }));
  const result = new Map(exact.map(({ nodeId, count }) => [nodeId, Math.floor(count)]));
  let left = total - sum([...result.values()]);
  const byRemainder = exact.toSorted((one, other) => (other.count % 1) - (one.count % 1));
  for (const { nodeId, count } of byRemainder) {
    if (left <= 0 || count % 1 === 0) break;
    result.set(nodeId, Math.ceil(count));
    left -= 1;
  }
  return result;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

function byId(one: RoleMember, other: RoleMember): number {
  return one.nodeId < other.nodeId ? -1 : 1;
}
