import type { EndReason, LeadershipEvent, WatchEvent } from "@tenure/core";
import { EVENTS_IN_HISTORY } from "@tenure/core/internal";
import type { ObservedLeader } from "../protocol/observations.js";

/**
 * Changes of leadership in the order in which this peer observed them. That is less than a store's feed shows: terms
 * that this peer never heard of leave no event; numbers belong to this process and start again with it; and the end of
 * another peer's term is `expired` unless this peer itself received its release.
 */
export class ObservedEvents {
  readonly #groupId: string;
  readonly #wallMs: () => number;
  readonly #listeners = new Set<() => void>();
  #events: readonly LeadershipEvent[] = [];
  #leader: ObservedLeader | null = null;
  /** The highest term seen. */
  #term = 0;
  #number = 0;

  constructor(groupId: string, wallMs: () => number) {
    this.#groupId = groupId;
    this.#wallMs = wallMs;
  }

  /** `reason`: how the previous term ended, if there was one. */
  observe(leader: ObservedLeader | null, reason: EndReason): void {
    const before = this.#leader;
    if (before !== null) {
      this.#add({
        type: "LEADER_LOST",
        term: before.term,
        leaderNodeId: null,
        previousLeaderNodeId: before.leaderId,
        reason,
      });
    }
    if (leader !== null) {
      const last = this.#events.at(-1);
      this.#term = Math.max(this.#term, leader.term);
      this.#add({
        type: "LEADER_CHANGED",
        term: leader.term,
        leaderNodeId: leader.leaderId,
        previousLeaderNodeId: last?.previousLeaderNodeId ?? null,
        reason: last?.reason ?? "none",
      });
    }
    this.#leader = leader;
    for (const listener of this.#listeners) listener();
  }

  /** Calls `listener` after every change; returns the function that stops it. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The events for a watcher at this cursor; the first time, and if events are missing, the state. */
  after(cursor: number | undefined): readonly WatchEvent[] {
    if (cursor === undefined) return [this.#state(false)];
    if (cursor > this.#number || cursor < this.#number - this.#events.length) return [this.#state(true)];
    return this.#events.filter(({ number }) => number > cursor).map((event) => this.#shown(event));
  }

  #state(resync: boolean): WatchEvent {
    const last = this.#events.at(-1);
    return {
      type: resync ? "RESYNC" : this.#leader === null ? "LEADER_LOST" : "LEADER_CHANGED",
      groupId: this.#groupId,
      cursor: this.#number,
      term: this.#term,
      leaderNodeId: this.#leader?.leaderId ?? null,
      previousLeaderNodeId: last?.previousLeaderNodeId ?? null,
      reason: last?.reason ?? "none",
      tsMs: last?.tsMs ?? Math.round(this.#wallMs()),
    };
  }

  #shown({ number, ...rest }: LeadershipEvent): WatchEvent {
    return { groupId: this.#groupId, cursor: number, ...rest };
  }

  #add(event: Omit<LeadershipEvent, "number" | "tsMs">): void {
    const numbered = { ...event, number: ++this.#number, tsMs: Math.round(this.#wallMs()) };
    this.#events = [...this.#events, numbered].slice(-EVENTS_IN_HISTORY);
  }
}
