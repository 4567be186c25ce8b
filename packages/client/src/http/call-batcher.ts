/**
 * Gathers calls of one kind, of all elections of a process, that come at about the same time into one request. Each caller
 * gets its own result or error; one that leaves takes its call out if it has not been sent yet, and harms no other. What
 * becomes of a call that was sent is then not known to its caller, as after any lost answer: whoever gives up a campaign
 * asks `leader`, and resigns if it is named.
 *
 * Calls share a request only if their time limits are alike, within a factor of two: a group with a short ttl must not cut
 * off the rest, nor wait for them.
 */
import type { CancelTimer, Clock } from "@tenure/core";
import { LIMITS, onAbort } from "@tenure/core/internal";

export interface CallFailure {
  readonly kind: "failed";
  readonly error: Error;
}

export interface CallBatcherOptions<Q, R> {
  readonly clock: Clock;
  /** How long the first of a batch waits for company. */
  readonly windowMs: number;
  /** Sends them; one result per call, in its place. */
  readonly send: (
    calls: readonly Q[],
    timeoutMs: number,
    signal: AbortSignal,
  ) => Promise<readonly (R | CallFailure)[]>;
  /** How much of a request's body it takes. Without it: so little that the number of calls is the only limit. */
  readonly bytesOf?: (call: Q) => number;
}

interface PendingCall<Q, R> {
  readonly call: Q;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

class Batch<Q, R> {
  readonly waiting: Map<string, PendingCall<Q, R>> = new Map();
  /** The strictest of those within. */
  timeoutMs: number = Number.POSITIVE_INFINITY;
  bytes = 0;
  /** Aborted when nobody waits for it any more. */
  readonly abandoned: AbortController = new AbortController();
  isSent = false;
  cancelTimer: CancelTimer = () => {};
}

/** The service takes bodies of a MiB; what is not counted is the frame around the calls. */
const MAX_BYTES = 1_000_000;

export class CallBatcher<Q extends { readonly groupId: string }, R extends { readonly kind: string }> {
  readonly #options: CallBatcherOptions<Q, R>;
  /** The batch that is being gathered, for each order of magnitude of the time limit. */
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
          // Before it is sent others may still join it.
          if (batch.isSent && batch.waiting.size === 0) batch.abandoned.abort(signal.reason);
          reject(signal.reason as Error);
        });
      }
      if (batch.waiting.size >= LIMITS.renewMany) this.#send(batch);
    });
  }

  /** Sends what has been gathered, without waiting for more. */
  flush(): void {
    for (const batch of [...this.#gathering.values()]) this.#send(batch);
  }

  /** A request names a group once; the second call of one begins the next. */
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
        // The window was part of it.
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
