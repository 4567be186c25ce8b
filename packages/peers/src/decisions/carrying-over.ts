/**
 * Decisions must not be lost when the electorate changes. In two electorates that are one step apart, any two
 * majorities share a voter; two steps apart they need not. So the next step waits until a majority of the current
 * electorate holds everything that is final.
 */
import { isMajority, isSameConfiguration } from "../protocol/configuration.js";
import type { Configuration } from "../protocol/messages.js";
import type { Consensus } from "./consensus.js";
import { isVoter } from "./decision-calls.js";
import type { DecisionLog } from "./decision-log.js";
import { type Holdings, openIn } from "./holdings.js";

export interface CarryingOverOptions {
  readonly self: { readonly identity: string };
  readonly log: DecisionLog;
  readonly consensus: Consensus;
  readonly holdings: Holdings;
}

const BEGUN = "decisions are being compared with what a majority of the electorate holds";

export class CarryingOver {
  readonly #options: CarryingOverOptions;
  /** The electorate of which a majority holds everything that was final when it came into force. */
  #carriedTo: Configuration | null = null;
  #carrying: Promise<void> | null = null;
  #why = BEGUN;

  constructor(options: CarryingOverOptions) {
    this.#options = options;
  }

  /** In a new term of office everything is checked again. */
  begin(): void {
    this.#carriedTo = null;
    this.#why = BEGUN;
  }

  async settled(): Promise<void> {
    await this.#carrying;
  }

  /** Why the electorate may not change yet; `null` if it may. Starts what is needed so that it soon may. */
  holds(config: Configuration, term: number): string | null {
    if (isSameConfiguration(this.#carriedTo, config)) return null;
    this.#carrying ??= this.#carry(config, term)
      .then((why) => {
        if (why === null) this.#carriedTo = config;
        else this.#why = why;
      })
      .catch((cause: unknown) => {
        this.#why = `decisions could not be carried over: ${cause instanceof Error ? cause.message : String(cause)}`;
      })
      .finally(() => {
        this.#carrying = null;
      });
    return this.#why;
  }

  /**
   * Brings everything final to a majority of this electorate. What becomes final from now on is asked of this
   * electorate anyway.
   */
  async #carry(config: Configuration, term: number): Promise<string | null> {
    const { log, self, consensus, holdings } = this.#options;
    const endpoints = Object.values(config.members).map(({ endpoint }) => endpoint);
    const { found, failed } = await holdings.of(endpoints, term, "all");
    const voters = found.filter(({ from }) => isVoter(config, from));
    const isEnough = (those: ReadonlySet<string | null>): boolean =>
      isMajority(config.members, (identity) => identity === self.identity || those.has(identity));
    if (!Object.hasOwn(config.members, self.identity)) return "this server is no elector";
    if (!isEnough(new Set(voters.map(({ from }) => from.identity)))) {
      return `no majority of the electorate shows what it holds of decisions (${failed.join("; ")})`;
    }
    if ((await log.page(term, "open", "")).kind === "stale") return "a newer coordinator exists";
    const decisions = voters.flatMap((each) => each.decisions);
    await log.take(decisions.filter(({ isFinal }) => isFinal));
    for (const { txnId, decision } of openIn([...decisions, ...log.open()])) {
      const { kind } = await consensus.makeFinal(txnId, decision, term);
      if (kind !== "final") return `transaction ${txnId} cannot be made final: ${kind}`;
    }
    await log.settled();
    const all = log.all().filter(({ isFinal }) => isFinal);
    const told = new Set<string | null>();
    await Promise.allSettled(
      voters.map(async ({ endpoint, from, decisions: held }) => {
        const has = new Set(held.flatMap(({ txnId, isFinal }) => (isFinal ? [txnId] : [])));
        const lacking = all.filter(({ txnId }) => !has.has(txnId));
        await holdings.tell(endpoint, lacking, term);
        told.add(from.identity);
      }),
    );
    return isEnough(told) ? null : "no majority of the electorate has taken the decisions that it lacks";
  }
}
