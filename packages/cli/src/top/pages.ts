/** The pages of `tenure top` besides the list: one group, and the keys. Pure. */
import type { Group, GroupHistory, Member } from "@tenure/core";
import { stateCell, tellBan, tellHold, tellLease, tellPause } from "../commands/group-state.js";
import { historyRows } from "../commands/history-rows.js";
import { EVENT_COLUMNS } from "../commands/tell-event.js";
import { tellDuration } from "../frame/duration.js";
import { type Cell, clipEnd, type Paint, table } from "../frame/text.js";

export interface GroupDetail {
  readonly group: Group;
  readonly members: readonly Member[];
  readonly history: GroupHistory;
  /** On the server's wall clock. */
  readonly nowMs: number;
}

interface Width {
  readonly columns: number;
  readonly rows: number;
}

/** Lines of the list, its heading and the footer, in which the members have at most a third. */
const MIN_EVENTS = 3;

const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ["j k ↓ ↑", "select a group; space and page keys move by ten"],
  ["enter", "show the members and the last events of the group"],
  ["esc q", "back to the list, clear the filter; q quits from the list"],
  ["g a l t", "sort by group, state, leader, term"],
  ["e c m", "sort by lease, changes per hour, members; again: reverse"],
  ["/", "filter by group, state or leader"],
  ["p r s", "pause, resume, step down; asks for a reason first"],
  ["ctrl-z", "suspend; fg continues"],
];

export function helpPage({ columns }: Width, paint: Paint): string[] {
  return [
    paint("bold", clipEnd("Keys", columns)),
    ...table(
      KEYS.map((row) => [...row]),
      { columns, paint },
    ),
  ];
}

export function groupPage(
  {
    view,
    detail,
  }: { readonly view: { readonly groupId: string | null }; readonly detail: GroupDetail | null },
  { columns, rows }: Width,
  paint: Paint,
): string[] {
  if (detail === null || detail.group.groupId !== view.groupId) {
    return [paint("bold", clipEnd(view.groupId ?? "", columns)), clipEnd("loading", columns)];
  }
  const { group, members, history, nowMs } = detail;
  const head = table(headRows(detail), { columns, paint });
  const memberRows = members.map(({ nodeId, role, ready, lastHeartbeatMs }): Cell[] => [
    nodeId,
    role === "leader" ? ["green", role] : role,
    ready ? "ready" : ["yellow", "not ready"],
    `${tellDuration(Math.max(0, Math.round((nowMs - lastHeartbeatMs) / 100) * 100))} ago`,
  ]);
  const eventRows = historyRows(history).toReversed();
  const room = rows - head.length - 8;
  const shownMembers = memberRows.slice(0, Math.max(1, room - Math.min(MIN_EVENTS, eventRows.length)));
  const hidden = memberRows.length - shownMembers.length;
  const memberLines =
    members.length === 0
      ? ["no node was seen in the last 30 seconds"]
      : table([["NODE", "ROLE", "READY", "LAST SEEN"], ...shownMembers], { columns, paint });
  return [
    paint("bold", clipEnd(group.groupId, columns)),
    ...head,
    "",
    ...memberLines.map((line, index) => (index === 0 && members.length > 0 ? paint("bold", line) : line)),
    ...(hidden > 0 ? [clipEnd(`and ${hidden} more`, columns)] : []),
    "",
    ...(eventRows.length === 0
      ? [clipEnd("no events yet", columns)]
      : table([[...EVENT_COLUMNS], ...eventRows], { columns, paint })),
  ];
}

function headRows({ group, nowMs }: GroupDetail): Cell[][] {
  const { leader } = group;
  const notes = [
    ["paused", tellPause(group)],
    ["held back", tellHold(group)],
  ].flatMap(([name = "", text]): Cell[][] => (typeof text === "string" ? [[name ?? "", text]] : []));
  return [
    ["state", stateCell(group)],
    ["leader", leader === null ? "none" : `${leader.nodeId}, term ${leader.term}`],
    ...(leader === null ? [] : [["lease", `${tellLease(group, nowMs)} left`]]),
    ...notes,
    ...group.bans.map((ban): Cell[] => ["banned", tellBan(ban)]),
  ];
}
