import {
  candidatesOf,
  type Finding,
  flappingOf,
  type GroupFacts,
  groupFindings,
  type GroupState,
  groupState,
  type Loss,
  LOSSES_KEPT,
  lossOf,
  standingOf,
} from "@tenure/api";
import type { WatchEvent } from "@tenure/core";
import type { InspectedGroup } from "@tenure/core/internal";

/** What a change of leader shows, for the metrics. */
export interface FollowedChange {
  readonly newTerms: number;
  /** From the loss of the leader to the next one, as this server saw it; `null`: not seen. */
  readonly electedAfterMs: number | null;
  /** From the last renewal of the lost leader to the next leader; `null`: one of the two was not seen. */
  readonly failoverMs: number | null;
  readonly isSplitBrain: boolean;
}

const NO_FINDINGS: readonly Finding[] = Object.freeze([]);
const NO_LOSSES: readonly Loss[] = Object.freeze([]);

/**
 * What the monitor knows of one group. There may be hundreds of thousands of these objects; each keeps a bounded number of losses.
 */
export class MonitoredGroup {
  readonly groupId: string;
  state: GroupState = "idle";
  isPaused = false;
  isFlapping = false;
  members = 0;
  findings: readonly Finding[] = NO_FINDINGS;
  /** The round of the monitor in which the group was last seen. */
  round = 0;

  #isFollowed = false;
  #term = 0;
  #leaderNodeId: string | null = null;
  /** On the monotonic clock; `null` while led. */
  #vacantAtMs: number | null = null;
  /** The last renewal of the lost leader, on the clock of the writer of the event; `null` while led. */
  #silentFromMs: number | null = null;
  #lastEnd: GroupFacts["lastEnd"] = null;
  #losses: readonly Loss[] = NO_LOSSES;
  /** The losses have to be read from the history, because events were not followed. */
  #isHistoryNeeded = true;
  readonly #knownSinceMs: number;
  #aloneSinceMs: number | null = null;
  #pausedSinceMs: number | null = null;

  constructor(groupId: string, wallMs: number) {
    this.groupId = groupId;
    this.#knownSinceMs = wallMs;
  }

  /** Since when the group has had no leader, on the wall clock. */
  get vacantSinceMs(): number | null {
    return this.state === "vacant" ? (this.#lastEnd?.tsMs ?? null) : null;
  }

  /** Takes an event of the watch over all groups. */
  follow(event: WatchEvent, monotonicMs: number, wallMs: number): FollowedChange {
    const { type, term, leaderNodeId, tsMs } = event;
    const wasFollowed = this.#isFollowed;
    // The state of a group that is new to this server is no change of it.
    const newTerms = wasFollowed ? term - this.#term : type === "LEADER_CHANGED" ? 1 : 0;
    const isOther =
      leaderNodeId !== null && this.#leaderNodeId !== null && leaderNodeId !== this.#leaderNodeId;
    const isSplitBrain = wasFollowed && (newTerms < 0 || (newTerms === 0 && isOther));
    // After a RESYNC the time of the election is not known.
    const isTimed = wasFollowed && type === "LEADER_CHANGED" && newTerms > 0 && this.#vacantAtMs !== null;
    const electedAfterMs = isTimed ? monotonicMs - (this.#vacantAtMs ?? 0) : null;
    const failoverMs = isTimed && this.#silentFromMs !== null ? Math.max(0, tsMs - this.#silentFromMs) : null;
    this.#silentFromMs = type === "LEADER_LOST" ? tsMs - (event.silentMs ?? 0) : null;
    if (type === "RESYNC") this.#isHistoryNeeded = true;
    else this.#takeLoss(event, wallMs);
    this.#vacantAtMs =
      leaderNodeId === null ? ((newTerms > 0 ? null : this.#vacantAtMs) ?? monotonicMs) : null;
    this.#leaderNodeId = leaderNodeId ?? (newTerms > 0 ? null : this.#leaderNodeId);
    this.#term = Math.max(term, this.#term);
    if (leaderNodeId === null && event.reason !== "none") {
      // The writer's clock may be ahead of this one; a live event has just happened.
      const endedMs = type === "RESYNC" ? Math.min(tsMs, wallMs) : wallMs;
      this.#lastEnd = { reason: event.reason, nodeId: event.previousLeaderNodeId, tsMs: endedMs };
    }
    this.#isFollowed = true;
    return { newTerms: Math.max(0, newTerms), electedAfterMs, failoverMs, isSplitBrain };
  }

  /** Brings state and findings up to date. Returns the findings before. */
  examine(sight: InspectedGroup, wallMs: number): readonly Finding[] {
    if (this.#isHistoryNeeded) this.#readHistory(sight);
    const { group, members } = sight;
    const candidates = candidatesOf(members, group.leader === null ? (this.#lastEnd?.tsMs ?? null) : null);
    this.#aloneSinceMs = candidates > 0 ? null : (this.#aloneSinceMs ?? wallMs);
    this.#pausedSinceMs = group.pausedForMs === null ? null : (this.#pausedSinceMs ?? wallMs);
    const standing = standingOf(group, wallMs);
    const facts: GroupFacts = {
      ...standing,
      pause:
        standing.pause === null
          ? null
          : { ...standing.pause, sinceMs: standing.pause.sinceMs ?? this.#pausedSinceMs },
      candidates,
      aloneSinceMs: this.#aloneSinceMs,
      knownSinceMs: this.#knownSinceMs,
      lastEnd: this.#lastEnd,
      losses: this.#losses,
    };
    const before = this.findings;
    this.members = members.length;
    this.isPaused = facts.pause !== null;
    this.state = groupState(facts, wallMs);
    this.isFlapping = this.#losses.length > 0 && flappingOf(this.#losses, wallMs) !== null;
    const findings = groupFindings(facts, wallMs);
    this.findings = findings.length === 0 ? NO_FINDINGS : findings;
    return before;
  }

  #takeLoss(event: WatchEvent, wallMs: number): void {
    const loss = lossOf({ ...event, tsMs: wallMs });
    if (loss !== null) this.#losses = [...this.#losses, loss].slice(-LOSSES_KEPT);
  }

  /** After a start of this server, or where events were missed. A group of few terms cannot be flapping. */
  #readHistory(sight: InspectedGroup): void {
    this.#isHistoryNeeded = false;
    if (sight.group.term <= 1 && sight.group.leader !== null) return;
    const history = sight.events();
    this.#losses = history
      .map(lossOf)
      .filter((loss) => loss !== null)
      .slice(-LOSSES_KEPT);
    const last = history.findLast(({ type }) => type === "LEADER_LOST");
    if (last !== undefined)
      this.#lastEnd = { reason: last.reason, nodeId: last.previousLeaderNodeId, tsMs: last.tsMs };
  }
}
