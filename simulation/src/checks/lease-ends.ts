import type { RecordWrite } from "../truth.js";
import type { Check, CheckContext } from "./check.js";

/** A server has to notice that the lease is over, and to write it. */
const NOTICED_MS = 40;
const CALLS_TO_END = 4;
/** What is left is rounded up to microseconds by each write. */
const ROUNDED_MS = 0.002;

/**
 * L3: without faults no lease outlives its time, however often other writes carry over what is left of it. Each server
 * counts from its own sight, so a write by another server than the last one adds the delay of the feed; a single server
 * adds nothing.
 */
export class LeaseEnds implements Check {
  readonly #context: CheckContext;
  /** Per group, the write that gave the lease its present length, and when it must be over. */
  readonly #leases = new Map<
    string,
    { readonly term: number; readonly givenAtMs: number; byMs: number; server: string }
  >();

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onWrite(write: RecordWrite): void {
    const { groupId, record, previous, atMs, server } = write;
    if (record.holder === null) {
      this.#leases.delete(groupId);
      return;
    }
    const known = this.#leases.get(groupId);
    const isCarried = known?.term === record.term && record.holdMs <= (previous?.record.holdMs ?? 0);
    // A renewal may give no more than was given before: it counts from now all the same.
    const isGiven = record.holdMs >= record.holder.ttlMs;
    if (known === undefined || !isCarried || isGiven) {
      const byMs = atMs + record.holdMs / (1 - this.#context.driftRatio);
      this.#leases.set(groupId, { term: record.term, givenAtMs: atMs, byMs, server });
      return;
    }
    known.byMs += ROUNDED_MS + (server === known.server ? 0 : this.#context.sightMs);
    known.server = server;
    this.#check(groupId);
  }

  onTick(): void {
    for (const { groupId } of this.#context.groups) this.#check(groupId);
  }

  #check(groupId: string): void {
    const lease = this.#leases.get(groupId);
    const nowMs = this.#context.nowMs();
    // A lease that was given during the faults may have been seen late, also by a server that carries it over afterwards.
    if (lease === undefined || lease.givenAtMs < this.#context.chaosMs + this.#context.behindMs) return;
    const lateMs =
      nowMs - lease.byMs - NOTICED_MS - CALLS_TO_END * this.#context.callMs - this.#context.sightMs;
    if (lateMs > 0 && lease.byMs > this.#context.chaosMs + this.#context.settledMs)
      this.#context.fail(
        "L3",
        `the lease of term ${lease.term} of ${groupId} outlives its time by ${lateMs.toFixed(0)} ms and more`,
      );
  }
}
