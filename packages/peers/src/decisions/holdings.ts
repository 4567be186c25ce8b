/** Reads what other servers hold of decisions, and sends them what they lack; both page by page. */
import type { Clock } from "@tenure/core";
import { within } from "@tenure/core/internal";
import type { HeldDecision } from "./decision.js";
import type { DecisionCalls, Heard, HeldQuestion } from "./decision-calls.js";
import { PAGE } from "./decision-log.js";

export interface HoldingsOptions {
  readonly self: { readonly endpoint: string };
  readonly clock: Clock;
  readonly limitMs: number;
  readonly calls: Pick<DecisionCalls, "held" | "tell">;
}

/** Everything that one server holds. */
export interface Holding {
  readonly endpoint: string;
  readonly from: Heard<unknown>["from"];
  readonly decisions: readonly HeldDecision[];
}

export interface FoundHoldings {
  readonly found: readonly Holding[];
  /** The servers that did not answer completely, and why. */
  readonly failed: readonly string[];
}

export class Holdings {
  readonly #options: HoldingsOptions;

  constructor(options: HoldingsOptions) {
    this.#options = options;
  }

  /** What each server holds that answers completely. It obeys no lower term from then on. */
  async of(endpoints: Iterable<string>, term: number, which: HeldQuestion["which"]): Promise<FoundHoldings> {
    const found: Holding[] = [];
    const failed: string[] = [];
    const others = [...new Set(endpoints)].filter((endpoint) => endpoint !== this.#options.self.endpoint);
    await Promise.all(
      others.map((endpoint) =>
        this.#read(endpoint, term, which).then(
          (holding) => void found.push(holding),
          (cause: unknown) => {
            failed.push(`${endpoint}: ${cause instanceof Error ? cause.message : String(cause)}`);
          },
        ),
      ),
    );
    return { found, failed };
  }

  async tell(endpoint: string, decisions: readonly HeldDecision[], term: number): Promise<void> {
    const { clock, limitMs, calls } = this.#options;
    for (let from = 0; from < decisions.length; from += PAGE) {
      const page = decisions.slice(from, from + PAGE);
      await within(clock, { limitMs }, (signal) => calls.tell(endpoint, page, term, signal));
    }
  }

  async #read(endpoint: string, term: number, which: HeldQuestion["which"]): Promise<Holding> {
    const { clock, limitMs, calls } = this.#options;
    const decisions: HeldDecision[] = [];
    for (let after = ""; ;) {
      const heard = await within(clock, { limitMs }, (signal) =>
        calls.held(endpoint, { term, which, after }, signal),
      );
      if (heard.value.kind === "stale") throw new Error(`a newer coordinator has term ${heard.value.term}`);
      decisions.push(...heard.value.decisions);
      if (heard.value.next === null) return { endpoint, from: heard.from, decisions };
      after = heard.value.next;
    }
  }
}

/**
 * What is not final, each transaction once, as the highest term has it. The coordinator proposes it: the majority that
 * answers first need not include the only server that remembers it, and asking for the decision would end undecided
 * each time. What a majority remembers overrules the proposal.
 */
export function openIn(decisions: readonly HeldDecision[]): Iterable<HeldDecision> {
  const latest = new Map<string, HeldDecision>();
  for (const each of decisions) {
    if (!each.isFinal && each.term >= (latest.get(each.txnId)?.term ?? 0)) latest.set(each.txnId, each);
  }
  return latest.values();
}
