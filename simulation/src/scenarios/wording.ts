/** How the scenarios of core word records, events and answers: everything that a rule decides, and no more. */
import type {
  CampaignResult,
  GroupHistory,
  Leader,
  Leadership,
  LeadershipEvent,
  NotLeader,
  RenewResult,
  ResignResult,
  WatchEvent,
} from "@tenure/core";
import type { ElectionRecord } from "@tenure/core/internal";

/** `1010` or `1009.5`: times that are not drawn at random are short. */
export function wordMs(ms: number): string {
  return String(Math.round(ms * 1000) / 1000);
}

/** What is new in a record: `last` has the numbers of the last event and the last act before it. */
export function wordRecord(
  record: ElectionRecord,
  last: { readonly event: number; readonly act: number },
): string {
  const { holder, deposed, transfer, pause, act } = record;
  const parts = [
    `term ${record.term}`,
    holder === null ? "vacant" : `${holder.nodeId} holds for ${wordMs(record.holdMs)} ms`,
    deposed === null ? [] : `deposed by ${deposed.by}`,
    record.bans.map(({ nodeId, leftMs }) => `${nodeId} banned for ${wordMs(leftMs)} ms`),
    transfer === null ? [] : wordTransfer(record, transfer),
    pause === null
      ? []
      : `paused ${pause.leftMs === null ? "until resumed" : `for ${wordMs(pause.leftMs)} ms`}`,
    record.delayMs === 0 ? [] : `takeover delayed for ${wordMs(record.delayMs)} ms`,
    record.deleted ? "deleted" : [],
    record.events.filter(({ number }) => number > last.event).map(wordEvent),
    act === null || act.number <= last.act ? [] : `act ${act.number} (${act.act} by ${act.by})`,
  ];
  return parts.flat().join(", ");
}

function wordTransfer(
  { holder }: ElectionRecord,
  { toNodeId, ready, leftMs }: NonNullable<ElectionRecord["transfer"]>,
): string {
  const mark = holder === null ? "reserved for" : ready ? "yields to" : "to be transferred to";
  return `${mark} ${toNodeId} for ${wordMs(leftMs)} ms`;
}

export function wordHistory({ events, acts }: GroupHistory): string {
  const parts = [range("events", events), range("acts", acts)].filter((part) => part !== "");
  return parts.length === 0 ? "no events" : parts.join(", ");
}

function range(what: string, list: readonly { readonly number: number }[]): string {
  return list.length === 0 ? "" : `${what} ${list[0]?.number} to ${list.at(-1)?.number}`;
}

function wordEvent({ number, type, leaderNodeId, previousLeaderNodeId, reason }: LeadershipEvent): string {
  const change =
    type === "LEADER_LOST"
      ? `${previousLeaderNodeId} lost its term: ${reason}`
      : `${leaderNodeId} leads${reason === "none" ? "" : ` after ${reason}`}`;
  return `event ${number} (${change})`;
}

export function wordWatched(event: WatchEvent): string {
  const { type, cursor, leaderNodeId, previousLeaderNodeId, reason, term } = event;
  if (type === "LEADER_LOST" && previousLeaderNodeId !== null)
    return `event ${cursor} (${previousLeaderNodeId} lost its term: ${reason})`;
  const leads = leaderNodeId === null ? "no leader" : `${leaderNodeId} leads term ${term}`;
  return type === "RESYNC" ? `RESYNC at event ${cursor} (${leads})` : `event ${cursor} (${leads})`;
}

export function wordCampaign(result: CampaignResult): string {
  if (result.kind === "elected") {
    const { leader, confirmed, reason, waitedMs, transferTo } = result;
    return [
      `${confirmed ? "confirmed" : "elected"} in term ${leader.term}`,
      reason === undefined || reason === "none" || confirmed ? [] : `after ${reason}`,
      waitedMs === undefined ? [] : `waited ${wordMs(waitedMs)} ms`,
      transferTo === undefined ? [] : `yield to ${transferTo}`,
    ]
      .flat()
      .join(", ");
  }
  const { leader, heldBack, heldBackForMs } = result;
  return `lost, ${wordLeader(leader)}${wordHeldBack(heldBack, heldBackForMs)}`;
}

export function wordRenewal(result: RenewResult): string {
  if (result.kind === "not-leader") return wordNotLeader(result);
  return `renewed${result.transferTo === undefined ? "" : `, yield to ${result.transferTo}`}`;
}

export function wordResignation(result: ResignResult): string {
  return result.kind === "resigned" ? "resigned" : wordNotLeader(result);
}

export function wordLeadership({ leader, heldBack, heldBackForMs, term }: Leadership): string {
  return `${wordLeader(leader)}${wordHeldBack(heldBack, heldBackForMs)}${leader === null ? `, last term ${term}` : ""}`;
}

function wordNotLeader({ currentLeader }: NotLeader): string {
  return `not leader, ${wordLeader(currentLeader)}`;
}

function wordLeader(leader: Pick<Leader, "nodeId" | "term"> | null): string {
  return leader === null ? "no leader" : `${leader.nodeId} leads term ${leader.term}`;
}

function wordHeldBack(heldBack: string | undefined, forMs: number | undefined): string {
  if (heldBack === undefined) return "";
  return `, ${heldBack}${forMs === undefined ? " until an operator acts" : ` for ${wordMs(forMs)} ms`}`;
}
