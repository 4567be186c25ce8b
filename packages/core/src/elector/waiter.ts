import type { CampaignResult } from "../elector.js";
import type { Candidate } from "../rules/campaign.js";
import type { Waiting } from "../rules/attend.js";

let nextOrder = 0;

export function inOrder(waiters: readonly Waiter[]): readonly Waiter[] {
  return [...waiters].sort((a, b) => a.order - b.order);
}

/**
 * A campaign, and if it waits, its place, in this server's queue. It is answered once: with the leadership, or at the end of its wait.
 * While a write in flight names it, it is not answered: that write decides.
 */
export class Waiter implements Waiting {
  readonly candidate: Candidate;
  /** Rises with each arrival at this server. */
  readonly order: number = nextOrder++;
  readonly arrivedAtMs: number;
  readonly endsAtMs: number;
  readonly answer: Promise<CampaignResult>;
  /** The answer tells how long it waited. */
  readonly waits: boolean;
  named = false;
  resolve!: (result: CampaignResult) => void;
  reject!: (error: unknown) => void;
  readonly signal: AbortSignal | undefined;

  constructor(candidate: Candidate, arrivedAtMs: number, waitMs: number, signal: AbortSignal | undefined) {
    this.candidate = candidate;
    this.arrivedAtMs = arrivedAtMs;
    this.endsAtMs = arrivedAtMs + waitMs;
    this.waits = waitMs > 0;
    this.signal = signal;
    this.answer = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // Its caller may be gone by the time it is settled.
    this.answer.catch(() => {});
  }

  /** The connection is closed: it must not be elected, and what it won is taken back. */
  get gone(): boolean {
    return this.signal?.aborted === true;
  }
}
