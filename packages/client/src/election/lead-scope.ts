import type { ElectionRun } from "./election-run.js";
import { endsByItsSignal } from "./hooks.js";
import type { Mandate } from "./state.js";

/** What `lead` passes to its work. */
export interface Leading extends Mandate {
  readonly signal: AbortSignal;
}

export type LeadWork<T> = (leading: Leading) => Promise<T>;

/**
 * The work of `lead`, over one or more leaderships. Its result counts if it ended while leading, or after an orderly
 * stop. Work whose leadership was lost otherwise runs again at the next one.
 */
export class LeadScope<T> {
  readonly #work: LeadWork<T>;
  #outcome: { readonly settle: () => T } | null = null;
  #interrupted: unknown;

  constructor(work: LeadWork<T>) {
    this.#work = work;
  }

  /** How the work ended; `null` if it has no result that counts. */
  get outcome(): { readonly settle: () => T } | null {
    return this.#outcome;
  }

  /** What the work threw after a stop. */
  get interrupted(): unknown {
    return this.#interrupted;
  }

  async run(run: ElectionRun, mandate: Mandate, signal: AbortSignal): Promise<void> {
    const leadership = run.leadership;
    try {
      const value = await this.#work({ ...mandate, signal });
      const isOrderly = leadership?.reason === "stopped";
      if (leadership?.isLeading() !== true && !isOrderly) return;
      this.#outcome = { settle: () => value };
    } catch (error) {
      if (leadership?.isLeading() !== true) {
        if (!endsByItsSignal(error, signal)) this.#interrupted = error;
        throw error;
      }
      const settle = (): never => {
        throw error;
      };
      this.#outcome = { settle };
    }
    run.finish();
  }
}
