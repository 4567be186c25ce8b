/**
 * Combines calls of one kind that come at about the same time, from all elections of a process, into one request. Each
 * caller gets its own result or error. A caller that leaves takes its call out if it has not been sent yet, and affects
 * no other. The outcome of a call that was sent is then unknown to its caller, as after any lost answer: a caller that
 * gives up a campaign asks `leader`, and resigns if it is the leader.
 *
 * Calls share a request only if their time limits are within a factor of two: a group with a short ttl must neither cut
 * off the other calls nor wait for them.
 */
import type { CancelTimer, Clock } from "@tenure/core";
import { LIMITS, onAbort } from "@tenure/core/internal";

export interface CallFailure {
  readonly kind: "failed";
  readonly error: Error;
}

export interface CallBatcherOptions<Q, R> {
  readonly clock: Clock;
  /** How long the first call of a batch waits for others. */
  readonly windowMs: number;
  /** Sends the calls; returns one result per call, in the same order. */
  readonly send: (
    calls: readonly Q[],
    timeoutMs: number,
    signal: AbortSignal,
  ) => Promise<readonly (R | CallFailure)[]>;
  /** How many bytes of a request's body the call takes. Absent: so few that only the number of calls is limited. */
  readonly bytesOf?: (call: Q) => number;
}

interface PendingCall<Q, R> {
  readonly call: Q;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

class Batch<Q, R> {
  readonly waiting: Map<string, PendingCall<Q, R>> = new Map();
  /** The shortest limit of the calls in the batch. */
  timeoutMs: number = Number.POSITIVE_INFINITY;
  bytes = 0;
  /** Aborted when no caller waits for the batch any more. */
  readonly abandoned: AbortController = new AbortController();
  isSent = false;
  cancelTimer: CancelTimer = () => {};
}

/** The service accepts bodies of 1 MiB; the rest is for the frame around the calls. */
const MAX_BYTES = 1_000_000;

export class CallBatcher<Q extends { readonly groupId: string }, R extends { readonly kind: string }> {
  readonly #options: CallBatcherOptions<Q, R>;
  /** The batch being filled, for each order of magnitude of the time limit. */
  readonly #gathering = new Map<number, Batch<Q, R>>();

  constructor(options: CallBatcherOptions<Q, R>) {
    this.#options = options;
  }

  call(call: Q, timeoutMs: number, signal?: AbortSignal): Promise<R> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      const { groupId } = call;
      const bytes = this.#options.bytesOf?.(call) ?? 0;
      const batch = this.#batchFor(groupId, timeoutMs, bytes);
      let stopListening = (): void => {};
      const waiting: PendingCall<Q, R> = {
        call,
        resolve: (result) => {
          stopListening();
          resolve(result);
        },
        reject: (error) => {
          stopListening();
          reject(error);
        },
      };
      batch.waiting.set(groupId, waiting);
      batch.timeoutMs = Math.min(batch.timeoutMs, timeoutMs);
      batch.bytes += bytes;
      if (signal !== undefined) {
        stopListening = onAbort(signal, () => {
          batch.waiting.delete(groupId);
          // Until the batch is sent, other calls may still join it.
          if (batch.isSent && batch.waiting.size === 0) batch.abandoned.abort(signal.reason);
          reject(signal.reason as Error);
        });
      }
      if (batch.waiting.size >= LIMITS.renewMany) this.#send(batch);
    });
  }

  /** Sends what has been collected, without waiting for more. */
  flush(): void {
    for (const batch of [...this.#gathering.values()]) this.#send(batch);
  }

  /** A request names a group once; the second call for a group begins the next batch. */
  #batchFor(groupId: string, timeoutMs: number, bytes: number): Batch<Q, R> {
    const magnitude = Math.floor(Math.log2(timeoutMs));
    const gathered = this.#gathering.get(magnitude);
    if (gathered !== undefined) {
      if (!gathered.waiting.has(groupId) && gathered.bytes + bytes <= MAX_BYTES) return gathered;
      this.#send(gathered);
    }
    const batch = new Batch<Q, R>();
    this.#gathering.set(magnitude, batch);
    const { clock, windowMs } = this.#options;
    batch.cancelTimer = clock.after(windowMs, () => this.#send(batch));
    return batch;
  }

  #send(batch: Batch<Q, R>): void {
    if (batch.isSent) return;
    batch.isSent = true;
    batch.cancelTimer();
    for (const [magnitude, each] of this.#gathering) if (each === batch) this.#gathering.delete(magnitude);
    if (batch.waiting.size > 0) void this.#exchange(batch);
  }

  async #exchange({ waiting, timeoutMs, abandoned }: Batch<Q, R>): Promise<void> {
    const sent = [...waiting.values()];
    try {
      const results = await this.#options.send(
        sent.map(({ call }) => call),
        // The window was part of the time limit.
        Math.max(1, timeoutMs - this.#options.windowMs),
        abandoned.signal,
      );
      for (const [index, { resolve, reject }] of sent.entries()) {
        const result = results[index];
        if (result === undefined) reject(new Error("the batch was answered without this call"));
        else if (isFailure(result)) reject(result.error);
        else resolve(result);
      }
    } catch (error) {
      for (const { reject } of sent) reject(error);
    }
  }
}

function isFailure(result: { readonly kind: string }): result is CallFailure {
  return result.kind === "failed";
}
