/** Explains who leads a group and why, from its events. Pure: `Known` goes in, sentences come out. */
import type { EndReason, Group, LeadershipEvent, Member } from "@tenure/core";
import { tellDuration, tellTime } from "../frame/duration.js";

export interface Known {
  readonly group: Group;
  /** Oldest first. */
  readonly events: readonly LeadershipEvent[];
  readonly members: readonly Member[];
  readonly nowMs: number;
}

/** One leadership, from its beginning to its end. */
interface Reign {
  readonly term: number;
  readonly nodeId: string;
  readonly fromMs: number;
  readonly by?: string | undefined;
  end: { readonly reason: EndReason; readonly atMs: number; readonly by?: string | undefined } | null;
}

const CAUSES: Readonly<Record<EndReason, string>> = {
  expired:
    "its lease expired: it did not renew in time, because it crashed, was frozen or lost its connection",
  resigned: "it resigned",
  deposed: "it was asked to step down",
  transferred: "it handed over to the next leader",
};

/** One sentence each, newest first: the present state, then what led to it. `most`: how many leaderships to explain. */
export function explain(known: Known, most: number): string[] {
  const reigns = reignsOf(known.events);
  const shown = reigns.slice(-most).toReversed();
  const [last, ...before] = shown;
  const sentences = known.group.leader === null ? vacancy(known, last) : presence(known, last);
  if (known.group.leader === null && last !== undefined) sentences.push(reignSentence(last));
  for (const [index, reign] of before.entries()) {
    const next = shown[index];
    if (next !== undefined) sentences.push(...gap(reign, next));
    sentences.push(reignSentence(reign));
  }
  const first = shown.at(-1);
  if (first?.term === 1)
    sentences.push(`Before that ${known.group.groupId} had no leader: term 1 is its first.`);
  else if (first !== undefined && reigns[0] === first) sentences.push("Older events are no longer stored.");
  return sentences;
}

function reignsOf(events: readonly LeadershipEvent[]): Reign[] {
  const reigns: Reign[] = [];
  for (const { type, term, leaderNodeId, previousLeaderNodeId, reason, tsMs, by } of events) {
    if (type === "LEADER_CHANGED" && leaderNodeId !== null) {
      reigns.push({ term, nodeId: leaderNodeId, fromMs: tsMs, by, end: null });
      continue;
    }
    if (reason === "none") continue;
    const end = { reason, atMs: tsMs, by };
    const reign = reigns.at(-1);
    if (reign?.term === term) reign.end = end;
    // The oldest stored event may be the end of a leadership.
    else if (reign === undefined && previousLeaderNodeId !== null)
      reigns.push({ term, nodeId: previousLeaderNodeId, fromMs: Number.NaN, end });
  }
  return reigns;
}

function presence({ group, nowMs }: Known, last: Reign | undefined): string[] {
  const { groupId, leader, pausedForMs, heldBack } = group;
  if (leader === null) return [];
  const sentences: string[] = [];
  const led = last?.term === leader.term ? last : undefined;
  const since =
    led === undefined ? "" : ` since ${tellTime(led.fromMs)} (${tellDuration(nowMs - led.fromMs)} ago)`;
  sentences.push(`${leader.nodeId} leads ${groupId} in term ${leader.term}${since}${askedFor(led?.by)}.`);
  if (heldBack !== null) {
    const left = tellDuration(heldBack.forMs);
    sentences.push(
      `It was asked to step down and can no longer renew: the group is free when it resigns, or in ${left} when its lease expires.`,
    );
  }
  if (pausedForMs !== null)
    sentences.push(`${pauseClause(pausedForMs)}: its leader may stay, no other node can win.`);
  return sentences;
}

function vacancy({ group, members, nowMs }: Known, last: Reign | undefined): string[] {
  const { groupId, policy, pausedForMs, heldBack } = group;
  const end = last?.end ?? null;
  const sentences = [
    end === null
      ? `${groupId} has no leader${group.term === 0 ? " and never had one" : ""}.`
      : `${groupId} has had no leader since ${tellTime(end.atMs)} (${tellDuration(nowMs - end.atMs)} ago).`,
  ];
  const candidates = members.filter(({ role }) => role === "candidate");
  if (pausedForMs !== null) {
    sentences.push(
      `${pauseClause(pausedForMs)}, so no node can win; end the pause with tenure resume ${groupId}.`,
    );
  } else if (heldBack?.by === "takeover_delay") {
    sentences.push(
      `Its takeover delay is ${tellDuration(policy.takeoverDelayMs)} after a lease expires; ` +
        `it ends in ${tellDuration(heldBack.forMs)}.`,
    );
  } else if (heldBack?.by === "reserved") {
    sentences.push(
      `A transfer is in progress: for ${tellDuration(heldBack.forMs)} only its successor can win.`,
    );
  } else if (candidates.length === 0) {
    sentences.push("It has no candidates: no node campaigned in the last 30 seconds.");
  } else {
    const names = candidates.map(({ nodeId }) => nodeId).join(", ");
    sentences.push(`Recent candidates: ${names}; none of them is campaigning now, or none may win yet.`);
  }
  return sentences;
}

function reignSentence({ nodeId, term, fromMs, end }: Reign): string {
  const span = end === null || Number.isNaN(fromMs) ? "" : ` for ${tellDuration(end.atMs - fromMs)}`;
  const from = Number.isNaN(fromMs) ? "" : `, from ${tellTime(fromMs)}`;
  if (end === null) return `${nodeId} led in term ${term}${from}; how the term ended is no longer stored.`;
  return `${nodeId} led in term ${term}${span}${from}; then ${CAUSES[end.reason]}${askedFor(end.by)}.`;
}

function gap(earlier: Reign, later: Reign): string[] {
  if (earlier.end === null || later.term !== earlier.term + 1) return [];
  const vacantMs = later.fromMs - earlier.end.atMs;
  if (vacantMs <= 0) return [`${later.nodeId} took over at once.`];
  return [`${later.nodeId} won ${tellDuration(vacantMs)} after ${earlier.nodeId} stopped leading.`];
}

function pauseClause(pausedForMs: number | "until-resumed"): string {
  const left =
    pausedForMs === "until-resumed" ? "until it is resumed" : `for another ${tellDuration(pausedForMs)}`;
  return `The group is paused ${left}`;
}

function askedFor(by: string | undefined): string {
  return by === undefined ? "" : `, requested by ${by}`;
}
