/**
 * Group commit. What is waiting goes out as one batch as soon as a place is free, so the busier the store the larger
 * the batches. Callers keep to one operation per key at a time.
 *
 * A batch whose answer does not come in time leaves each of its operations uncertain; one that the store refused as a
 * whole rejects each of them, and nothing was written.
 */
import type { Clock } from "../clock.js";
import { asBackendError, type TenureError } from "../errors.js";
import type { CasOp, CasOutcome, Store } from "../store/store.js";
import { within } from "./within.js";

interface Pending {
  readonly op: CasOp;
  readonly resolve: (outcome: CasOutcome) => void;
  readonly reject: (error: unknown) => void;
}

type Answer =
  | { readonly kind: "answered"; readonly outcomes: readonly CasOutcome[] }
  | { readonly kind: "refused"; readonly error: TenureError }
  | { readonly kind: "lost"; readonly cause: unknown };

export class Batcher {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #timeoutMs: () => number;
  #waiting: Pending[] = [];
  #inFlight = 0;
  #scheduled = false;

  constructor(store: Store, clock: Clock, timeoutMs: () => number) {
    this.#store = store;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  submit(op: CasOp): Promise<CasOutcome> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ op, resolve, reject });
      this.#schedule();
    });
  }

  /**
   * At the end of the present turn of the event loop, so that all requests that it brings go out together; a microtask
   * would come after the first of them.
   */
  #schedule(): void {
    if (this.#scheduled || this.#inFlight >= this.#store.limits.batchesInFlight) return;
    this.#scheduled = true;
    this.#clock.soon(() => {
      this.#scheduled = false;
      while (this.#waiting.length > 0 && this.#inFlight < this.#store.limits.batchesInFlight) {
        const batch = this.#waiting.splice(0, this.#store.limits.batchOps);
        void this.#send(batch);
      }
    });
  }

  async #send(batch: readonly Pending[]): Promise<void> {
    this.#inFlight++;
    const answer = await this.#ask(batch.map((pending) => pending.op));
    this.#inFlight--;
    for (const [index, pending] of batch.entries()) {
      if (answer.kind === "refused") pending.reject(answer.error);
      else if (answer.kind === "lost") pending.resolve({ kind: "uncertain", cause: answer.cause });
      else
        pending.resolve(
          answer.outcomes[index] ?? { kind: "uncertain", cause: new Error("no outcome was given") },
        );
    }
    this.#schedule();
  }

  #ask(ops: readonly CasOp[]): Promise<Answer> {
    return within(this.#clock, this.#timeoutMs(), "a write", (signal) =>
      this.#store.compareAndSet(ops, { signal }).then(
        (outcomes): Answer => ({ kind: "answered", outcomes }),
        (cause: unknown): Answer => ({ kind: "refused", error: asBackendError(cause) }),
      ),
    ).catch((cause: unknown): Answer => ({ kind: "lost", cause }));
  }
}
