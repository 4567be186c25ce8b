/**
 * The coordinator's part of decisions: it makes one final at a majority of the electorate, then has every registered
 * resource manager apply it, those that were away as soon as they are back. Whoever becomes coordinator takes up what the
 * one before has left.
 *
 * The electorate changes, and decisions must not stay behind. Two electorates that are one step apart share a voter in any
 * two majorities, two steps apart they need not. So the next step waits until everything final is held by a majority of the
 * electorate as it is (`mayStep`); and what was asked of an electorate that is no more is asked again of the present one.
 */
import { type Clock, sleep, unlessAborted } from "@tenure/core";
import { askAll } from "../protocol/ask-all.js";
import { compareEpochs } from "../protocol/configuration.js";
import type { Configuration } from "../protocol/messages.js";
import type { Decision, HeldDecision, TxnDecision } from "./decision.js";
import { type DecisionLog, type HeldPage, PAGE, type Promised } from "./decision-log.js";
import type { Applied } from "./resource-manager.js";

/** Calls to others; each rejects when no answer came. `from` is who answered: its certificate, and its disk. */
export interface DecisionCalls {
  prepare(endpoint: string, txnId: string, term: number, signal: AbortSignal): Promise<Heard<Promised>>;
  remember(endpoint: string, decision: TxnDecision, signal: AbortSignal): Promise<Heard<Promised>>;
  /** A page of what that server holds. */
  held(endpoint: string, asked: HeldQuestion, signal: AbortSignal): Promise<Heard<HeldPage>>;
  /** Tells decisions that are final. */
  tell(
    endpoint: string,
    decisions: readonly HeldDecision[],
    term: number,
    signal: AbortSignal,
  ): Promise<Heard<void>>;
  apply(endpoint: string, decision: TxnDecision, signal: AbortSignal): Promise<Applied>;
}

export interface HeldQuestion {
  readonly term: number;
  readonly which: "all" | "open";
  /** Ids above this one. */
  readonly after: string;
}

export interface Heard<T> {
  readonly from: { readonly identity: string | null; readonly disk: string };
  readonly value: T;
}

export interface DeciderOptions {
  readonly self: { readonly identity: string; readonly endpoint: string };
  readonly clock: Clock;
  readonly limitMs: number;
  readonly log: DecisionLog;
  readonly calls: DecisionCalls;
  readonly electorate: () => Configuration | null;
  /** The endpoints of the active membership. */
  readonly members: () => readonly string[];
  readonly resourceManagers: () => readonly string[];
  readonly onFinal: (decision: TxnDecision) => void;
  readonly onFailure: (endpoint: string, cause: unknown) => void;
}

export type Settled =
  | { readonly kind: "final"; readonly decision: Decision; readonly pending: readonly string[] }
  /** Nobody has decided it, and nothing was proposed. */
  | { readonly kind: "undecided" }
  /** A newer coordinator exists. */
  | { readonly kind: "stale"; readonly term: number }
  /** It may become final yet: a minority may remember it. */
  | { readonly kind: "no-majority" };

type MadeFinal =
  | { readonly kind: "final"; readonly record: TxnDecision }
  | Exclude<Settled, { kind: "final" }>;

type Votes<T> = { readonly kind: "majority"; readonly values: readonly T[] } | { readonly kind: "none" };

interface Office {
  readonly term: number;
  readonly signal: AbortSignal;
}

/** What one server holds, all of it. */
interface Holding {
  readonly endpoint: string;
  readonly from: Heard<unknown>["from"];
  readonly decisions: readonly HeldDecision[];
}

export class Decider {
  readonly #options: DeciderOptions;
  readonly #settling = new Map<string, Promise<unknown>>();
  /** By transaction: who has applied it. */
  readonly #delivered = new Map<string, Set<string>>();
  #office: Office | null = null;
  /** The electorate of which a majority holds everything that was final when it came into force. */
  #carriedTo: Configuration | null = null;
  #carrying: Promise<void> | null = null;
  #leading: Promise<void> = Promise.resolve();

  constructor(options: DeciderOptions) {
    this.#options = options;
  }

  /** Takes up the office: finishes what is open, and goes on delivering until the signal aborts. */
  lead(term: number, signal: AbortSignal): void {
    this.#office = { term, signal };
    this.#carriedTo = null;
    this.#leading = this.#leading.then(() => this.#run(term, signal));
  }

  async stopped(): Promise<void> {
    await this.#leading;
    await this.#carrying;
  }

  /** Whether the electorate may change: `config` is the one that counts. If not, it sees to it that it soon may. */
  mayStep(config: Configuration): boolean {
    if (isSame(this.#carriedTo, config)) return true;
    this.#carrying ??= this.#carry(config)
      .catch(() => {})
      .finally(() => {
        this.#carrying = null;
      });
    return false;
  }

  /** `wanted` only counts where nothing was decided before; `null` asks. */
  async settle(txnId: string, wanted: Decision | null, term: number): Promise<Settled> {
    const made = await this.#makeFinal(txnId, wanted, term);
    if (made.kind !== "final") return made;
    const { decision } = made.record;
    return { kind: "final", decision, pending: await this.#deliver({ txnId, decision, term }) };
  }

  /** One at a time for each transaction. */
  #makeFinal(txnId: string, wanted: Decision | null, term: number): Promise<MadeFinal> {
    const before = this.#settling.get(txnId) ?? Promise.resolve();
    const turn = before.then(() => this.#decide(txnId, wanted, term));
    const settled = turn.catch(() => {});
    this.#settling.set(txnId, settled);
    void settled.then(() => {
      if (this.#settling.get(txnId) === settled) this.#settling.delete(txnId);
    });
    return turn;
  }

  async #decide(txnId: string, wanted: Decision | null, term: number): Promise<MadeFinal> {
    const { log, calls } = this.#options;
    const known = log.get(txnId);
    if (known?.isFinal === true)
      return { kind: "final", record: { txnId, decision: known.decision, term: known.term } };
    const prepared = await this.#majority(
      () => log.prepare(txnId, term),
      (endpoint, signal) => calls.prepare(endpoint, txnId, term, signal),
    );
    if (prepared.kind === "none") return { kind: "no-majority" };
    const stale = prepared.values.find((each) => each.kind === "stale");
    if (stale?.kind === "stale") return stale;
    const decision = binding(prepared.values)?.decision ?? wanted;
    if (decision === null) return { kind: "undecided" };
    const record: TxnDecision = { txnId, decision, term };
    const remembered = await this.#majority(
      () => log.remember(record),
      (endpoint, signal) => calls.remember(endpoint, record, signal),
    );
    if (remembered.kind === "none") return { kind: "no-majority" };
    const later = remembered.values.find((each) => each.kind === "stale");
    if (later?.kind === "stale") return later;
    await log.take([{ ...record, doneForMs: null }]);
    this.#options.onFinal(record);
    return { kind: "final", record };
  }

  /** Returns who has not applied it yet. Those in `away` are not even asked, and whoever does not answer joins them. */
  async #deliver(record: TxnDecision, away: Set<string> = new Set()): Promise<readonly string[]> {
    const { log, calls, resourceManagers, onFailure } = this.#options;
    const { txnId, decision } = record;
    if ((log.get(txnId)?.doneForMs ?? null) !== null) return [];
    const delivered = this.#delivered.get(txnId) ?? new Set<string>();
    this.#delivered.set(txnId, delivered);
    const all = resourceManagers();
    await this.#within((signal) =>
      Promise.all(
        all
          .filter((endpoint) => !delivered.has(endpoint) && !away.has(endpoint))
          .map(async (endpoint) => {
            try {
              const applied = await calls.apply(endpoint, record, signal);
              if (applied.kind === "applied") delivered.add(endpoint);
              else
                onFailure(
                  endpoint,
                  new Error(`${endpoint} refused to ${decision} ${txnId}: ${applied.kind}`),
                );
            } catch (cause) {
              away.add(endpoint);
              onFailure(endpoint, cause);
            }
          }),
      ),
    );
    const pending = all.filter((endpoint) => !delivered.has(endpoint));
    // Without any resource manager there is nobody who could hold the decision: it stays open.
    if (pending.length > 0 || all.length === 0) return pending;
    // The others hear of it at the next sweep, for they still have it open.
    await log.take([{ ...record, doneForMs: 0 }]);
    this.#delivered.delete(txnId);
    return [];
  }

  async #run(term: number, signal: AbortSignal): Promise<void> {
    const { clock, limitMs } = this.#options;
    this.#delivered.clear();
    while (!signal.aborted) {
      await unlessAborted(signal, this.#sweep(term, signal)).catch(() => {});
      await sleep(clock, limitMs, signal).catch(() => {});
    }
  }

  /** Finishes what anybody has open, and tells them what is done. */
  async #sweep(term: number, signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    const holdings = await this.#holdings(this.#everybody(), term, "open");
    const found = holdings.flatMap(({ decisions }) => decisions);
    await log.take(found.filter(({ isFinal }) => isFinal));
    for (const { txnId, decision } of openIn(found)) {
      signal.throwIfAborted();
      await this.#makeFinal(txnId, decision, term);
    }
    await Promise.all(
      holdings.map(({ endpoint, decisions }) => {
        const done = decisions.flatMap(({ txnId }) => log.get(txnId) ?? []);
        return this.#tell(
          endpoint,
          done.filter(({ doneForMs }) => doneForMs !== null),
          term,
        ).catch(() => {});
      }),
    );
    const away = new Set<string>();
    for (const { txnId, decision } of log.open()) {
      signal.throwIfAborted();
      const made = await this.#makeFinal(txnId, decision, term);
      if (made.kind === "final") await this.#deliver({ ...made.record, term }, away);
    }
  }

  /** Everything final to a majority of this electorate. What becomes final from here on is asked of it anyhow. */
  async #carry(config: Configuration): Promise<void> {
    const { log, self } = this.#options;
    const { term } = this.#office ?? { term: 0 };
    const endpoints = Object.values(config.members).map(({ endpoint }) => endpoint);
    const holdings = (await this.#holdings(endpoints, term, "all")).filter(({ from }) =>
      isVoter(config, from),
    );
    const isMajority = (others: number): boolean => 2 * (others + 1) > Object.keys(config.members).length;
    if (config.members[self.identity] === undefined || !isMajority(holdings.length)) return;
    if ((await log.page(term, "open", "")).kind === "stale") return;
    const found = holdings.flatMap(({ decisions }) => decisions);
    await log.take(found.filter(({ isFinal }) => isFinal));
    for (const { txnId, decision } of openIn([...found, ...log.open()])) {
      if ((await this.#makeFinal(txnId, decision, term)).kind !== "final") return;
    }
    await log.settled();
    const all = log.all().filter(({ isFinal }) => isFinal);
    const told = await Promise.allSettled(
      holdings.map(({ endpoint, decisions }) => {
        const has = new Set(decisions.flatMap(({ txnId, isFinal }) => (isFinal ? [txnId] : [])));
        return this.#tell(
          endpoint,
          all.filter(({ txnId }) => !has.has(txnId)),
          term,
        );
      }),
    );
    if (isMajority(told.filter(({ status }) => status === "fulfilled").length)) this.#carriedTo = config;
  }

  /** What each of them holds that answers in full. It obeys no lower term from then on. */
  async #holdings(
    endpoints: Iterable<string>,
    term: number,
    which: HeldQuestion["which"],
  ): Promise<readonly Holding[]> {
    const { calls, self } = this.#options;
    const found = await Promise.allSettled(
      [...new Set(endpoints)]
        .filter((endpoint) => endpoint !== self.endpoint)
        .map(async (endpoint): Promise<Holding> => {
          const decisions: HeldDecision[] = [];
          for (let after = ""; ;) {
            const heard = await this.#within((signal) =>
              calls.held(endpoint, { term, which, after }, signal),
            );
            if (heard.value.kind === "stale")
              throw new Error(`a newer coordinator has term ${heard.value.term}`);
            decisions.push(...heard.value.decisions);
            if (heard.value.next === null) return { endpoint, from: heard.from, decisions };
            after = heard.value.next;
          }
        }),
    );
    return found.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  }

  async #tell(endpoint: string, decisions: readonly HeldDecision[], term: number): Promise<void> {
    for (let from = 0; from < decisions.length; from += PAGE) {
      const page = decisions.slice(from, from + PAGE);
      await this.#within((signal) => this.#options.calls.tell(endpoint, page, term, signal));
    }
  }

  /**
   * Asks everybody of the electorate until a majority has answered; an elector with another disk is none. Oneself first:
   * what this server does not hold itself it must not have told others, or it could tell two things in one term.
   */
  async #majority<T>(
    own: () => Promise<T>,
    call: (endpoint: string, signal: AbortSignal) => Promise<Heard<T>>,
  ): Promise<Votes<T>> {
    const { electorate, self, clock, limitMs } = this.#options;
    for (;;) {
      const config = electorate();
      if (config === null || config.members[self.identity] === undefined) return { kind: "none" };
      const values = new Map<string, T>([[self.identity, await own()]]);
      const isEnough = (): boolean => 2 * values.size > Object.keys(config.members).length;
      const others = Object.entries(config.members).filter(([identity]) => identity !== self.identity);
      const asking = askAll(
        clock,
        limitMs,
        isEnough() ? [] : new Set(others.map(([, { endpoint }]) => endpoint)),
        call,
        ({ from, value }) => {
          if (from.identity === null || !isVoter(config, from)) return;
          values.set(from.identity, value);
          if (isEnough()) asking.end();
        },
      );
      await asking.done;
      if (!isEnough()) return { kind: "none" };
      if (isSame(config, electorate())) return { kind: "majority", values: [...values.values()] };
    }
  }

  #everybody(): ReadonlySet<string> {
    const { electorate, members } = this.#options;
    const electors = Object.values(electorate()?.members ?? {}).map(({ endpoint }) => endpoint);
    return new Set([...electors, ...members()]);
  }

  async #within<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, limitMs } = this.#options;
    const limit = new AbortController();
    const cancel = clock.after(limitMs, () => limit.abort(new Error(`no answer within ${limitMs} ms`)));
    return work(limit.signal).finally(cancel);
  }
}

function isVoter({ members }: Configuration, { identity, disk }: Heard<unknown>["from"]): boolean {
  return identity !== null && members[identity]?.disk === disk;
}

function isSame(a: Configuration | null, b: Configuration | null): boolean {
  return a !== null && b !== null && a.cluster === b.cluster && compareEpochs(a.epoch, b.epoch) === 0;
}

/**
 * What is not final, each transaction once, as the highest term has it. The coordinator proposes it: the majority that answers
 * first need not include the only server that remembers it, and to ask what was decided would end undecided each time.
 * What a majority remembers overrules the proposal.
 */
function openIn(decisions: readonly HeldDecision[]): Iterable<HeldDecision> {
  const latest = new Map<string, HeldDecision>();
  for (const each of decisions) {
    if (!each.isFinal && each.term >= (latest.get(each.txnId)?.term ?? 0)) latest.set(each.txnId, each);
  }
  return latest.values();
}

/** What is final binds; else, of what a majority remembers, the one of the highest term may be final, and none but that. */
function binding(promises: readonly Promised[]): HeldDecision | null {
  let found: HeldDecision | null = null;
  for (const each of promises) {
    const held = each.kind === "promised" ? each.held : null;
    if (held === null) continue;
    if (held.isFinal) return held;
    if (held.term >= (found?.term ?? 0)) found = held;
  }
  return found;
}
