/**
 * The gate in front of a resource: it admits a term unless the term is below the highest one that was admitted, and remembers
 * the highest one.
 *
 * Work that was admitted is not stopped when a later term arrives. Fence the work itself where that is possible, in a transaction
 * for example; where it is not, keep the work behind the gate short.
 */
import { type CallOptions, InvalidRequestError } from "@tenure/core";
import { checkId, checkKeys, HighestTerms, unlessAborted } from "@tenure/core/internal";
import { checkTerm, isTerm } from "../check.js";
import { FenceError, FenceUnavailableError, StaleTermError } from "../errors.js";
import type { TermCell } from "./term-cell.js";

export interface TermGateOptions {
  readonly cell: TermCell;
}

export interface TermClaim {
  readonly groupId: string;
  readonly term: number;
}

export type Admission =
  | { readonly kind: "admitted"; readonly groupId: string; readonly term: number }
  | {
      readonly kind: "stale";
      readonly groupId: string;
      readonly term: number;
      readonly highestTerm: number;
    };

export class TermGate {
  readonly #cell: TermCell;
  /** The terms that this process has seen. Terms only rise, so a refusal by them is as good as a refusal by the cell. */
  readonly #seen = new HighestTerms();

  constructor(options: TermGateOptions) {
    checkKeys(options, "", ["cell"]);
    if (typeof options.cell?.raise !== "function" || typeof options.cell.read !== "function") {
      throw new InvalidRequestError("cell", "must be a TermCell, with read and raise");
    }
    this.#cell = options.cell;
  }

  /** Can be called concurrently. Rejects with `FenceUnavailableError` when the cell fails. */
  async admit({ groupId, term }: TermClaim, options: CallOptions = {}): Promise<Admission> {
    checkId(groupId, "groupId");
    checkTerm(term, "term");
    options.signal?.throwIfAborted();
    const seen = this.#seen.of(groupId);
    const highestTerm = seen > term ? seen : await this.#ask(groupId, term, options);
    if (highestTerm > term) return { kind: "stale", groupId, term, highestTerm };
    return { kind: "admitted", groupId, term };
  }

  /** Like `admit`, but rejects with `StaleTermError` if the term is stale. */
  async admitOrThrow(claim: TermClaim, options: CallOptions = {}): Promise<void> {
    const admission = await this.admit(claim, options);
    if (admission.kind === "admitted") return;
    throw new StaleTermError(admission.groupId, admission.term, admission.highestTerm);
  }

  /** 0 if no term of the group was admitted yet. */
  async highestTerm(groupId: string, options: CallOptions = {}): Promise<number> {
    checkId(groupId, "groupId");
    options.signal?.throwIfAborted();
    const answer = await this.#guarded((cell) => cell.read(groupId, options), options);
    return this.#take(groupId, answer, 0);
  }

  async #ask(groupId: string, term: number, options: CallOptions): Promise<number> {
    const answer = await this.#guarded((cell) => cell.raise(groupId, term, options), options);
    return this.#take(groupId, answer, term);
  }

  /** A cell that breaks its contract must not open the gate. Answers can arrive out of order, so the highest one counts. */
  #take(groupId: string, answer: number, atLeast: number): number {
    if (answer < atLeast || !(answer === 0 || isTerm(answer))) {
      throw new FenceUnavailableError(
        `the cell answered ${answer} for group ${groupId}, which must be a term of at least ${atLeast}`,
      );
    }
    return this.#seen.raise(groupId, answer);
  }

  async #guarded(ask: (cell: TermCell) => Promise<number>, { signal }: CallOptions): Promise<number> {
    try {
      return await unlessAborted(signal, ask(this.#cell));
    } catch (cause) {
      if (cause instanceof FenceError || signal?.aborted === true) throw cause;
      throw new FenceUnavailableError("the highest term could not be had from the cell", { cause });
    }
  }
}
