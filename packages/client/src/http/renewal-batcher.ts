/**
 * Gathers the renewals of all elections of a process that come at about the same time into one request. Each caller gets
 * its own result or error; one that leaves takes its renewal out if it has not been sent yet.
 *
 * Renewals share a request only if their time limits are alike, within a factor of two: a group with a short ttl must not
 * cut off the rest, nor wait for them.
 */
import {
  type CancelTimer,
  type Clock,
  LIMITS,
  onAbort,
  type ParsedRenew,
  type RenewManyResult,
  type RenewResult,
} from "@tenure/core";

export interface RenewalBatcherOptions {
  readonly clock: Clock;
  /** How long the first of a batch waits for company. */
  readonly windowMs: number;
  /** Sends them; one result per renewal, in its place. */
  readonly send: (
    renewals: readonly ParsedRenew[],
    timeoutMs: number,
    signal: AbortSignal,
  ) => Promise<readonly RenewManyResult[]>;
}

interface Waiting {
  readonly renewal: ParsedRenew;
  readonly resolve: (result: RenewResult) => void;
  readonly reject: (error: unknown) => void;
}

class Batch {
  readonly waiting: Map<string, Waiting> = new Map();
  /** The strictest of those within. */
  timeoutMs: number = Number.POSITIVE_INFINITY;
  /** Aborted when nobody waits for it any more. */
  readonly abandoned: AbortController = new AbortController();
  isSent = false;
  cancelTimer: CancelTimer = () => {};
}

export class RenewalBatcher {
  readonly #options: RenewalBatcherOptions;
  /** The batch that is being gathered, for each order of magnitude of the time limit. */
  readonly #gathering = new Map<number, Batch>();

  constructor(options: RenewalBatcherOptions) {
    this.#options = options;
  }

  renew(renewal: ParsedRenew, timeoutMs: number, signal?: AbortSignal): Promise<RenewResult> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      const { groupId } = renewal;
      const batch = this.#batchFor(groupId, timeoutMs);
      let stopListening = (): void => {};
      const waiting: Waiting = {
        renewal,
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

  /** A request names a group once; the second renewal of one begins the next. */
  #batchFor(groupId: string, timeoutMs: number): Batch {
    const magnitude = Math.floor(Math.log2(timeoutMs));
    const gathered = this.#gathering.get(magnitude);
    if (gathered !== undefined && !gathered.waiting.has(groupId)) return gathered;
    if (gathered !== undefined) this.#send(gathered);
    const batch = new Batch();
    this.#gathering.set(magnitude, batch);
    const { clock, windowMs } = this.#options;
    batch.cancelTimer = clock.after(windowMs, () => this.#send(batch));
    return batch;
  }

  #send(batch: Batch): void {
    if (batch.isSent) return;
    batch.isSent = true;
    batch.cancelTimer();
    for (const [magnitude, each] of this.#gathering) if (each === batch) this.#gathering.delete(magnitude);
    if (batch.waiting.size > 0) void this.#exchange(batch);
  }

  async #exchange({ waiting, timeoutMs, abandoned }: Batch): Promise<void> {
    const sent = [...waiting.values()];
    try {
      const results = await this.#options.send(
        sent.map(({ renewal }) => renewal),
        // The window was part of it.
        Math.max(1, timeoutMs - this.#options.windowMs),
        abandoned.signal,
      );
      for (const [index, { resolve, reject }] of sent.entries()) {
        const result = results[index];
        if (result === undefined) reject(new Error("the batch was answered without this renewal"));
        else if (result.kind === "failed") reject(result.error);
        else resolve(result);
      }
    } catch (error) {
      for (const { reject } of sent) reject(error);
    }
  }
}
