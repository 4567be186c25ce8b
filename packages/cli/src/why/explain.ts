/** Explains who leads a group and why, from its events. Pure: `Known` goes in, sentences come out. */
import type { EndReason, Group, LeadershipEvent, Member, OperatorAct } from "@tenure/core";
import { tellBan, tellPause } from "../commands/group-state.js";
import { actSentence, because } from "../commands/tell-act.js";
import { tellDuration, tellTime } from "../frame/duration.js";

export interface Known {
  readonly group: Group;
  /** Oldest first. */
  readonly events: readonly LeadershipEvent[];
  /** Oldest first. */
  readonly acts: readonly OperatorAct[];
  readonly members: readonly Member[];
  readonly nowMs: number;
}

/** One leadership, from its beginning to its end. */
interface Reign {
  readonly term: number;
  readonly nodeId: string;
  readonly fromMs: number;
  readonly by?: string | undefined;
  end: Ending | null;
}

interface Ending {
  readonly reason: EndReason;
  readonly atMs: number;
  readonly by?: string | undefined;
  /** Why the operator wanted it. */
  readonly because: string;
  /** How long the leader had not been heard from; only if its lease expired. */
  readonly silentMs?: number | undefined;
}

/** The acts of operators that are told, newest first. */
const MAX_ACTS = 5;

const CAUSES: Readonly<Record<EndReason, string>> = {
  expired:
    "its lease expired: it did not renew in time, because it crashed, was frozen or lost its connection",
  resigned: "it resigned",
  deposed: "it was asked to step down",
  transferred: "it handed over to the next leader",
};

/** One sentence each, newest first: the present state, then what led to it. `most`: how many leaderships to explain. */
export function explain(known: Known, most: number): string[] {
  const reigns = reignsOf(known);
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
  const acts = known.acts.slice(-MAX_ACTS).toReversed();
  if (acts.length > 0)
    sentences.push("Last acts of operators:", ...acts.map((act) => `  ${actSentence(act)}`));
  return sentences;
}

function reignsOf({ events, acts }: Known): Reign[] {
  const reigns: Reign[] = [];
  for (const event of events) {
    const { type, term, leaderNodeId, previousLeaderNodeId, reason, tsMs, by, silentMs } = event;
    if (type === "LEADER_CHANGED" && leaderNodeId !== null) {
      reigns.push({ term, nodeId: leaderNodeId, fromMs: tsMs, by, end: null });
      continue;
    }
    if (reason === "none") continue;
    const end = { reason, atMs: tsMs, by, silentMs, because: reasonOf(acts, event) };
    const reign = reigns.at(-1);
    if (reign?.term === term) reign.end = end;
    // The oldest stored event may be the end of a leadership.
    else if (reign === undefined && previousLeaderNodeId !== null)
      reigns.push({ term, nodeId: previousLeaderNodeId, fromMs: Number.NaN, end });
  }
  return reigns;
}

/** Why the operator ended this term, if an act says so. */
function reasonOf(acts: readonly OperatorAct[], { term, by, tsMs }: LeadershipEvent): string {
  const act = acts.findLast(
    (each) => each.term === term && each.by === by && each.tsMs <= tsMs && ENDS_TERMS.has(each.act),
  );
  return because(act?.reason ?? null);
}

const ENDS_TERMS: ReadonlySet<OperatorAct["act"]> = new Set(["step-down", "transfer", "update", "delete"]);

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
    sentences.push(`${pauseSentence(group)} Its leader may stay, no other node can win.`);
  return [...sentences, ...banSentences(group)];
}

function vacancy({ group, members, nowMs }: Known, last: Reign | undefined): string[] {
  const { groupId, policy, pausedForMs, heldBack } = group;
  const end = last?.end ?? null;
  const sentences = [
    end === null
      ? `${groupId} has no leader${group.term === 0 ? " and never had one" : ""}.`
      : `${groupId} has had no leader since ${tellTime(end.atMs)} (${tellDuration(nowMs - end.atMs)} ago).`,
    ...(end?.silentMs === undefined
      ? []
      : [`No node may have acted for up to ${tellDuration(nowMs - end.atMs + end.silentMs)}.`]),
  ];
  const candidates = members.filter(({ role }) => role === "candidate");
  if (pausedForMs !== null) {
    sentences.push(`${pauseSentence(group)} No node can win; end the pause with tenure resume ${groupId}.`);
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
  return [...sentences, ...banSentences(group)];
}

function reignSentence({ nodeId, term, fromMs, end }: Reign): string {
  const span = end === null || Number.isNaN(fromMs) ? "" : ` for ${tellDuration(end.atMs - fromMs)}`;
  const from = Number.isNaN(fromMs) ? "" : `, from ${tellTime(fromMs)}`;
  if (end === null) return `${nodeId} led in term ${term}${from}; how the term ended is no longer stored.`;
  return `${nodeId} led in term ${term}${span}${from}; then ${CAUSES[end.reason]}${askedFor(end.by)}${end.because}.`;
}

function gap(earlier: Reign, later: Reign): string[] {
  if (earlier.end === null || later.term !== earlier.term + 1) return [];
  const vacantMs = later.fromMs - earlier.end.atMs;
  const { silentMs } = earlier.end;
  if (silentMs !== undefined) {
    // The lease ends long after the last renewal: what counts is how long no node worked.
    const failoverMs = Math.max(0, vacantMs) + silentMs;
    return [
      `${later.nodeId} took over; no node may have acted for up to ${tellDuration(failoverMs)}, ` +
        `since ${earlier.nodeId} was last heard from.`,
    ];
  }
  if (vacantMs <= 0) return [`${later.nodeId} took over at once.`];
  return [`${later.nodeId} won ${tellDuration(vacantMs)} after ${earlier.nodeId} stopped leading.`];
}

function pauseSentence(group: Group): string {
  return `The group is paused ${tellPause(group)}.`;
}

function banSentences({ bans }: Group): string[] {
  return bans.map((ban) => `Banned: ${tellBan(ban)}.`);
}

function askedFor(by: string | undefined): string {
  return by === undefined ? "" : `, requested by ${by}`;
}
