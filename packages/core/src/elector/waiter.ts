import type { CampaignResult } from "../elector.js";
import type { Sign } from "../members.js";
import type { Candidate } from "../rules/campaign.js";
import type { WaitingCampaign } from "../rules/upkeep.js";
import type { ParsedCampaign } from "./requests.js";

let nextOrder = 0;

/** A campaign at this server, answered once. `campaign-queue.ts` describes the life of one that waits. */
export class Waiter implements WaitingCampaign {
  readonly candidate: Candidate;
  readonly ready: boolean;
  /** Rises with each arrival at this server, unless `CampaignQueue.restorePlace` gives it an earlier place. */
  order: number = nextOrder++;
  readonly arrivedAtMs: number;
  readonly endsAtMs: number;
  readonly answer: Promise<CampaignResult>;
  /** Whether it may wait; then the answer says how long it waited. */
  readonly waits: boolean;
  /** Its state in the group's queue. Only the queue changes it. */
  state: "queued" | "named" | "out" = "out";
  resolve!: (result: CampaignResult) => void;
  reject!: (error: unknown) => void;
  readonly signal: AbortSignal | undefined;

  constructor(
    { candidate, ready, waitMs }: Pick<ParsedCampaign, "candidate" | "ready" | "waitMs">,
    arrivedAtMs: number,
    signal: AbortSignal | undefined,
  ) {
    this.candidate = candidate;
    this.ready = ready;
    this.arrivedAtMs = arrivedAtMs;
    this.endsAtMs = arrivedAtMs + waitMs;
    this.waits = waitMs > 0;
    this.signal = signal;
    this.answer = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // The caller may be gone when the promise settles.
    this.answer.catch(() => {});
  }

  /** What the campaign reports about its node as a member of the group. */
  get sign(): Sign {
    const { nodeId, metadata } = this.candidate;
    return { nodeId, isCandidate: true, metadata, ready: this.ready };
  }

  /** The caller has disconnected: the campaign must not be elected, and what it won is given back. */
  get gone(): boolean {
    return this.signal?.aborted === true;
  }
}
