/** Checks the groups: which change leaders too often, and which have no candidates. */
import type { ElectorAdmin, Group, LeadershipEvent, Member } from "@tenure/core";
import { tellDuration } from "../frame/duration.js";
import { type Finding, note, ok, wrong } from "./finding.js";

export interface GroupSight {
  readonly group: Group;
  readonly events: readonly LeadershipEvent[];
  readonly members: readonly Member[];
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MAX_CHANGES_PER_HOUR = 6;
const MAX_GROUPS = 500;
const MAX_NAMED = 5;
const AT_ONCE = 8;

export async function checkGroups(
  elector: ElectorAdmin,
  groups: readonly Group[],
  nowMs: number,
  signal: AbortSignal,
): Promise<Finding[]> {
  const looked = groups.slice(0, MAX_GROUPS);
  const findings: Finding[] = [];
  const alone: string[] = [];
  const queue = [...looked];
  const drain = async (): Promise<void> => {
    for (let group = queue.shift(); group !== undefined; group = queue.shift()) {
      const { groupId } = group;
      const [events, members] = await Promise.all([
        elector.history(groupId, { signal }),
        elector.members(groupId, { signal }),
      ]);
      findings.push(...judgeGroup({ group, events, members }, nowMs));
      if (hasNoSuccessor({ group, members })) alone.push(groupId);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, drain));
  findings.push(...judgeAlone(alone));
  const rest = groups.length - looked.length;
  if (rest > 0) findings.push(note("groups", `${rest} of ${groups.length} were not checked`));
  if (!findings.some(({ level }) => level === "wrong"))
    findings.push(ok("groups", `${looked.length} checked; none flaps, and each has a leader or candidates`));
  return findings;
}

/** The group has a leader, and no candidate that could take over. */
export function hasNoSuccessor({ group, members }: Pick<GroupSight, "group" | "members">): boolean {
  return group.leader !== null && !members.some(({ role }) => role === "candidate");
}

/** One finding for all such groups, because there are many where one node runs everything. */
export function judgeAlone(groupIds: readonly string[]): Finding[] {
  if (groupIds.length === 0) return [];
  const named = groupIds.toSorted().slice(0, MAX_NAMED).join(", ");
  const others = groupIds.length - MAX_NAMED;
  const all = others > 0 ? `${named} and ${others} more` : named;
  const says = `no candidate could take over ${all} if the leader fails`;
  return [note("groups", says, "start a second node for each group, unless it may be without a leader")];
}

export function judgeGroup(sight: GroupSight, nowMs: number): Finding[] {
  return [...judgeChanges(sight, nowMs), ...judgeCandidates(sight, nowMs)];
}

function judgeChanges({ group, events }: GroupSight, nowMs: number): Finding[] {
  const { groupId, policy } = group;
  const ends = events.filter(({ type, tsMs }) => type === "LEADER_LOST" && nowMs - tsMs < HOUR_MS);
  const count = (reason: string): number => ends.filter((event) => event.reason === reason).length;
  const about = `group ${groupId}`;
  if (count("expired") > MAX_CHANGES_PER_HOUR) {
    const says = `flaps: ${count("expired")} leases expired in the last hour`;
    const advice =
      `leaders renew too late: use a longer ttl (--min-ttl is ${tellDuration(policy.minTtlMs)}), ` +
      "renew every third of the ttl, and look for the cause of the delay (garbage collection, CPU load, network)";
    return [wrong(about, says, advice)];
  }
  const transferred = count("transferred");
  if (policy.preempt && transferred > MAX_CHANGES_PER_HOUR) {
    const says = `flaps: it was handed over ${transferred} times in the last hour, and its policy preempts`;
    return [wrong(about, says, "give its nodes equal priorities, or tenure groups update with --no-preempt")];
  }
  if (count("resigned") > 4 * MAX_CHANGES_PER_HOUR) {
    return [note(about, `its leaders have resigned ${count("resigned")} times in the last hour`)];
  }
  return [];
}

function judgeCandidates({ group, events, members }: GroupSight, nowMs: number): Finding[] {
  const { groupId, leader, explicit, pausedForMs } = group;
  const about = `group ${groupId}`;
  if (pausedForMs === "until-resumed") {
    return [note(about, "is paused until resumed", `tenure resume ${groupId}`)];
  }
  if (leader !== null || pausedForMs !== null) return [];
  if (members.some(({ role }) => role === "candidate")) return [];
  const last = events.at(-1);
  const isLost = last?.reason === "expired" && nowMs - last.tsMs < DAY_MS;
  // A node that campaigned once and resigned leaves such a group behind: that is not a problem.
  if (!explicit && !isLost) return [];
  const says = isLost
    ? `has no leader and no candidates since the lease of ${last.previousLeaderNodeId ?? "its leader"} expired ${tellDuration(nowMs - last.tsMs)} ago`
    : "has no leader and no candidates";
  const allowed = group.allowedNodes === null ? "its nodes" : group.allowedNodes.join(", ");
  return [
    wrong(
      about,
      says,
      `start ${allowed || "its nodes"}, or delete the group: tenure groups delete ${groupId}`,
    ),
  ];
}
