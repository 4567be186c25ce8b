/** Groups for people: a table of many, and a card of one. */
import type { ElectorAdmin, Group, GroupHistory, Member } from "@tenure/core";
import { tellDuration } from "../frame/duration.js";
import type { Shell } from "../frame/shell.js";
import { type Cell, table } from "../frame/text.js";
import { actSentence } from "./tell-act.js";
import { stateCell, tellBan, tellHold, tellLease, tellPause } from "./group-state.js";

/** Members are requested one group at a time: for more groups than this only with `-o wide`. */
const MAX_COUNTED = 200;
const AT_ONCE = 8;
/** The newest acts of operators that the card of a group shows. */
const MAX_ACTS = 3;

export async function groupRows(
  shell: Shell,
  elector: ElectorAdmin,
  groups: readonly Group[],
): Promise<string[]> {
  const isCounted = shell.isWide || groups.length <= MAX_COUNTED;
  const counts = isCounted ? await memberCounts(elector, groups, shell.signal) : null;
  const nowMs = shell.clock.wallMs();
  const rows = groups.map((group): Cell[] => [
    group.groupId,
    stateCell(group),
    group.leader?.nodeId ?? "-",
    String(group.term),
    tellLease(group, nowMs) || "-",
    ...(counts === null ? [] : [String(counts.get(group.groupId) ?? "-")]),
    ...(shell.isWide ? wideCells(group) : []),
  ]);
  const header = [
    "GROUP",
    "STATE",
    "LEADER",
    "TERM",
    "LEASE",
    ...(counts === null ? [] : ["MEMBERS"]),
    ...(shell.isWide ? ["TTL", "STRATEGY", "ALLOWED", "NOTE"] : []),
  ];
  return shell.table([header, ...rows]);
}

function wideCells(group: Group): Cell[] {
  const { policy, allowedNodes } = group;
  const marks = [
    ["paused", tellPause(group)],
    ["held back", tellHold(group)],
    ...group.bans.map((ban) => ["banned:", tellBan(ban)]),
  ];
  const notes = marks.filter(([, text]) => text !== null).map((mark) => mark.join(" "));
  return [tellTtl(group), policy.strategy, allowedNodes?.join(",") ?? "all", notes.join("; ")];
}

/** A leader with a long lease may not have been seen recently, and still is a member. */
export function memberCount({ leader }: Group, members: readonly Member[]): number {
  const isUnseen = leader !== null && !members.some(({ nodeId }) => nodeId === leader.nodeId);
  return members.length + (isUnseen ? 1 : 0);
}

async function memberCounts(
  elector: ElectorAdmin,
  groups: readonly Group[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const queue = [...groups];
  const drain = async (): Promise<void> => {
    for (let group = queue.shift(); group !== undefined; group = queue.shift()) {
      const { groupId } = group;
      // A group that was deleted meanwhile has no members.
      const members = await elector.members(groupId, { signal }).catch(() => null);
      signal.throwIfAborted();
      if (members !== null) counts.set(groupId, memberCount(group, members));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, drain));
  return counts;
}

/** `history` is `null` where it is not shown. */
export function groupLines(shell: Shell, group: Group, history: GroupHistory | null): string[] {
  const { policy, allowedNodes, leader } = group;
  const { retry } = policy;
  const rows: Cell[][] = [
    ["group", group.groupId],
    ["state", stateCell(group)],
    ["leader", leader === null ? "none" : `${leader.nodeId}, term ${leader.term}`],
    ...(leader === null ? [] : [["lease", `${tellLease(group, shell.clock.wallMs())} left`]]),
    ["last term", String(group.term)],
    ["created", group.explicit ? "by an operator" : "by its first campaign"],
    ["paused", tellPause(group) ?? "no"],
    ["held back", tellHold(group) ?? "no"],
    ...group.bans.map((ban) => ["banned", tellBan(ban)]),
    ["ttl", tellTtl(group)],
    ["takeover delay", tellDuration(policy.takeoverDelayMs)],
    ["strategy", policy.preempt ? `${policy.strategy}, preempting` : policy.strategy],
    ["retry", `${tellDuration(retry.initialMs)} to ${tellDuration(retry.maxMs)}, jitter ${retry.jitter}`],
    ["allowed nodes", allowedNodes === null ? "all" : allowedNodes.join(", ")],
    ...(history?.acts.slice(-MAX_ACTS) ?? []).map((act, index) => [
      index === 0 ? "operator acts" : "",
      actSentence(act),
    ]),
  ];
  // Not clipped: this is not a table of many rows, and a reason must be readable.
  return table(rows, { paint: shell.paint });
}

function tellTtl({ policy }: Group): string {
  return `${tellDuration(policy.minTtlMs)} to ${tellDuration(policy.maxTtlMs)}`;
}
