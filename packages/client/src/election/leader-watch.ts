import { type Clock, type Elector, type Leadership, sleep } from "@tenure/core";
import { MIN_WATCH_MS } from "@tenure/core/internal";
import { Pauses } from "./pauses.js";
import type { ParsedRetry } from "./options.js";
import { Backoff } from "./retry.js";
import type { KnownLeader } from "./state.js";

export interface LeaderWatchParts {
  readonly elector: Elector;
  readonly groupId: string;
  /** The ttl of the leases it follows: a watch that is silent for about half of it is opened at another server. */
  readonly ttlMs: number;
  /**
   * The sum of these two is how long the watch may be silent before that is reported. A leader notices a lost
   * connection as soon.
   */
  readonly heartbeatIntervalMs: number;
  readonly connectionTimeoutMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly retry: ParsedRetry;
  readonly changed: (leader: KnownLeader, previousId: string | null) => void;
  /** Called with `null` when a server was reached and with the error when none could be; the watch continues by itself. */
  readonly contact: (error: unknown) => void;
}

const SILENCE_SHARE = 1 / 2;

/**
 * Follows who leads a group by a watch. A watch that breaks is opened again where it broke. What this process learned
 * from an answer may come before the watch shows it; older news never replaces newer.
 */
export class LeaderWatch {
  readonly #parts: LeaderWatchParts;
  readonly #pauses = new Pauses();
  #known: KnownLeader | null = null;
  #previousId: string | null = null;
  #seenAtMs = 0;
  #isCutOff = false;

  constructor(parts: LeaderWatchParts) {
    this.#parts = parts;
  }

  /** `null` before the first news. */
  get known(): KnownLeader | null {
    return this.#known;
  }

  /** The leader before the current one. */
  get previousId(): string | null {
    return this.#previousId;
  }

  /** How long the current state has been known. */
  get ageMs(): number {
    return this.#parts.clock.monotonicMs() - this.#seenAtMs;
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { elector, groupId, ttlMs, clock, random, retry } = this.#parts;
    const silenceMs = Math.max(MIN_WATCH_MS.silence, Math.floor(ttlMs * SILENCE_SHARE));
    const quietMs = Math.min(silenceMs, Math.max(MIN_WATCH_MS.quiet, this.#noticeMs));
    const onContact = (error: unknown) => {
      if (!signal.aborted) this.#contact(error);
    };
    const backoff = new Backoff(retry, random);
    let cursor: number | undefined;
    while (!signal.aborted) {
      try {
        for await (const event of elector.watch(groupId, { cursor, silenceMs, quietMs, onContact, signal })) {
          cursor = event.cursor;
          backoff.reset();
          this.#contact(null);
          const { leaderNodeId: nodeId, term, reason, previousLeaderNodeId } = event;
          this.note({ nodeId, term, reason }, previousLeaderNodeId);
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#contact(error);
        await sleep(clock, backoff.next(error), signal).catch(() => {});
      }
    }
  }

  /**
   * Asks who leads and uses the answer. The answer does not say how a term ended: the reason is `none` until the watch
   * shows it.
   */
  async ask(signal?: AbortSignal): Promise<Leadership> {
    const { elector, groupId } = this.#parts;
    const answer = await elector.leader(groupId, signal === undefined ? {} : { signal });
    this.note({ nodeId: answer.leader?.nodeId ?? null, term: answer.term, reason: "none" }, null);
    return answer;
  }

  /** Takes in news from the watch or from an answer; `previousId` if they name it. */
  note(news: KnownLeader, previousId: string | null): void {
    const known = this.#known;
    if (known !== null && !isNews(news, known)) return;
    this.#previousId = previousId ?? known?.nodeId ?? this.#previousId;
    // A vacancy whose reason becomes known later keeps its age.
    if (known?.nodeId !== null || news.term > known.term) this.#seenAtMs = this.#parts.clock.monotonicMs();
    this.#known = news;
    this.#parts.changed(news, this.#previousId);
    this.#pauses.endAll();
  }

  /** Resolves at the next change, after `delayMs`, or rejects with the signal's reason. */
  changed(delayMs: number, signal: AbortSignal): Promise<void> {
    return this.#pauses.pause(this.#parts.clock, delayMs, signal);
  }

  /** Within this time a leader notices that its elector does not answer. */
  get #noticeMs(): number {
    return this.#parts.heartbeatIntervalMs + this.#parts.connectionTimeoutMs;
  }

  /** A candidate that pauses because nothing answered continues when there is an answer again. */
  #contact(error: unknown): void {
    const wasCutOff = this.#isCutOff;
    this.#isCutOff = error !== null;
    this.#parts.contact(error);
    if (wasCutOff && !this.#isCutOff) this.#pauses.endAll();
  }
}

function isNews(news: KnownLeader, known: KnownLeader): boolean {
  if (news.term !== known.term) return news.term > known.term;
  if (known.nodeId !== null) return news.nodeId === null;
  return news.nodeId === null && known.reason === "none" && news.reason !== "none";
}
