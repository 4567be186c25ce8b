import { type Clock, type Elector, onAbort, sleep } from "@tenure/core";
import { ENDED } from "./ended.js";
import type { ParsedRetry } from "./options.js";
import { Backoff } from "./retry.js";
import type { KnownLeader } from "./state.js";

export interface LeaderWatchParts {
  readonly elector: Elector;
  readonly groupId: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly retry: ParsedRetry;
  readonly changed: (leader: KnownLeader, previousId: string | null) => void;
  /** An answer came, or the watch broke and will be opened again. */
  readonly contact: (error: unknown) => void;
}

/**
 * Who leads a group, followed by its watch for as long as it takes: a watch that breaks is opened again where it broke.
 * What this process itself was told by an answer may come first; older news never replaces newer.
 */
export class LeaderWatch {
  readonly #parts: LeaderWatchParts;
  readonly #waiting = new Set<() => void>();
  #known: KnownLeader | null = null;
  #previousId: string | null = null;
  #seenAtMs = 0;

  constructor(parts: LeaderWatchParts) {
    this.#parts = parts;
  }

  /** `null` before the first news. */
  get known(): KnownLeader | null {
    return this.#known;
  }

  /** Who led before. */
  get previousId(): string | null {
    return this.#previousId;
  }

  /** How long the present state has been known. */
  get ageMs(): number {
    return this.#parts.clock.monotonicMs() - this.#seenAtMs;
  }

  /** Ends by the signal alone. */
  async run(signal: AbortSignal): Promise<void> {
    const { elector, groupId, clock, random, retry, contact } = this.#parts;
    const backoff = new Backoff(retry, random);
    let cursor: number | undefined;
    while (!signal.aborted) {
      try {
        for await (const event of elector.watch(groupId, { cursor, signal })) {
          cursor = event.cursor;
          backoff.reset();
          contact(null);
          const { leaderNodeId: nodeId, term, reason, previousLeaderNodeId } = event;
          this.note({ nodeId, term, reason }, previousLeaderNodeId);
        }
      } catch (error) {
        if (signal.aborted) return;
        contact(error);
        await sleep(clock, backoff.next(error), signal).catch(() => {});
      }
    }
  }

  /** Takes news in, from the watch or from an answer; `previousId` where they name it. */
  note(news: KnownLeader, previousId: string | null): void {
    const known = this.#known;
    if (known !== null) {
      if (news.term < known.term) return;
      if (news.term === known.term && (news.nodeId === known.nodeId || known.nodeId === null)) return;
    }
    this.#previousId = previousId ?? known?.nodeId ?? this.#previousId;
    this.#known = news;
    this.#seenAtMs = this.#parts.clock.monotonicMs();
    this.#parts.changed(news, this.#previousId);
    for (const wake of this.#waiting) wake();
  }

  /** Resolves at the next change, after `delayMs`, or rejects with the signal's reason. */
  async changed(delayMs: number, signal: AbortSignal): Promise<void> {
    const enough = new AbortController();
    const wake = () => enough.abort(ENDED);
    this.#waiting.add(wake);
    const stopListening = onAbort(signal, wake);
    await sleep(this.#parts.clock, delayMs, enough.signal).catch(() => {});
    stopListening();
    this.#waiting.delete(wake);
    signal.throwIfAborted();
  }
}
