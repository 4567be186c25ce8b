/**
 * The gate in front of a resource: it admits a term that is not below the highest it has admitted, and remembers it.
 *
 * What has been admitted is not stopped when a later term comes. Where the work itself can be fenced, in a transaction
 * for example, do that; where it cannot, keep what is done behind the gate short.
 */
import { type CallOptions, InvalidRequestError } from "@tenure/core";
import { checkId, checkKeys, unlessAborted } from "@tenure/core/internal";
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
  /** Of this process. Terms only rise, so a refusal from it is as good as one from the cell. */
  readonly #seen = new Map<string, number>();

  constructor(options: TermGateOptions) {
    checkKeys(options, "", ["cell"]);
    if (typeof options.cell?.raise !== "function" || typeof options.cell.read !== "function") {
      throw new InvalidRequestError("cell", "must be a TermCell, with read and raise");
    }
    this.#cell = options.cell;
  }

  /** May be called at once for any number of claims. Rejects with `FenceUnavailableError` when the cell fails. */
  async admit({ groupId, term }: TermClaim, options: CallOptions = {}): Promise<Admission> {
    checkId(groupId, "groupId");
    checkTerm(term, "term");
    options.signal?.throwIfAborted();
    const seen = this.#seenOf(groupId);
    const highestTerm = seen > term ? seen : await this.#ask(groupId, term, options);
    if (highestTerm > term) return { kind: "stale", groupId, term, highestTerm };
    return { kind: "admitted", groupId, term };
  }

  /** The same, with a stale term as `StaleTermError`. */
  async admitOrThrow(claim: TermClaim, options: CallOptions = {}): Promise<void> {
    const admission = await this.admit(claim, options);
    if (admission.kind === "admitted") return;
    throw new StaleTermError(admission.groupId, admission.term, admission.highestTerm);
  }

  /** 0 where none was admitted yet. */
  async highestTerm(groupId: string, options: CallOptions = {}): Promise<number> {
    checkId(groupId, "groupId");
    options.signal?.throwIfAborted();
    const told = await this.#guarded((cell) => cell.read(groupId, options), options);
    return this.#take(groupId, told, 0);
  }

  async #ask(groupId: string, term: number, options: CallOptions): Promise<number> {
    const told = await this.#guarded((cell) => cell.raise(groupId, term, options), options);
    return this.#take(groupId, told, term);
  }

  /** A cell that breaks its promise must not open the gate. An answer may be overtaken by a later one, so the higher counts. */
  #take(groupId: string, told: number, atLeast: number): number {
    if (told < atLeast || !(told === 0 || isTerm(told))) {
      throw new FenceUnavailableError(
        `the cell answered ${told} for group ${groupId}, which must be a term of at least ${atLeast}`,
      );
    }
    const highest = Math.max(told, this.#seenOf(groupId));
    if (highest > 0) this.#seen.set(groupId, highest);
    return highest;
  }

  #seenOf(groupId: string): number {
    return this.#seen.get(groupId) ?? 0;
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
