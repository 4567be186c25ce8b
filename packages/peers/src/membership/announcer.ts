/**
 * Keeps this server in the membership of all others: it announces itself repeatedly, and sends a goodbye when it
 * leaves.
 *
 * It announces to the active members, to the electorate (which two parts that have expired each other still know), and
 * to every server that an answer has named; to the join targets only while it knows no other server.
 */
import { type Clock, sleep } from "@tenure/core";
import { within } from "@tenure/core/internal";
import type { Configuration } from "../protocol/messages.js";
import { SerialQueue } from "../serial-queue.js";
import type { Membership } from "./membership.js";

export interface AnnouncerCalls {
  /** Resolves to the endpoints that the other server knows. */
  announce(endpoint: string, signal: AbortSignal): Promise<readonly string[]>;
  leave(endpoint: string, signal: AbortSignal): Promise<void>;
  /** Rejects if this server does not answer. */
  reach(endpoint: string, signal: AbortSignal): Promise<void>;
}

export interface AnnouncerOptions {
  readonly self: { readonly identity: string; readonly endpoint: string; readonly disk: string };
  readonly join: readonly string[];
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly membership: Membership;
  readonly calls: AnnouncerCalls;
  readonly electorate: () => Configuration | null;
  /** The endpoint of the leader, as far as this server knows. */
  readonly leader: () => string | null;
  readonly onFailure: (endpoint: string, cause: unknown) => void;
}

export interface RoundResult {
  readonly reached: readonly string[];
  readonly failed: readonly { readonly endpoint: string; readonly cause: unknown }[];
}

export class Announcer {
  readonly #options: AnnouncerOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #round: Promise<unknown> = Promise.resolve();
  readonly #leaves = new SerialQueue();
  #named: ReadonlySet<string> = new Set();
  /** A leave is in progress: an announcement would arrive after the goodbye. */
  #isSayingGoodbye = false;
  /** Members and electors that have not confirmed the goodbye of a server that leaves; the goodbye is sent to them again. */
  #unconfirmed: ReadonlySet<string> = new Set();

  constructor(options: AnnouncerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  /**
   * One announcement to itself and to all others; waits until all have answered or the time limit has passed. At the
   * start it always includes the join targets.
   */
  announce({ isStart = false }: { readonly isStart?: boolean } = {}): Promise<RoundResult> {
    const round = this.#announce(isStart);
    this.#round = round.catch(() => {});
    return round;
  }

  /**
   * Sends a goodbye to all, itself last. All or none: if an active member does not confirm, this server announces
   * itself again and the failures are returned. A leave that is refused changes nothing: no goodbye is sent before all
   * have answered; this server is `leaving` only once all have confirmed, so a leader leads until then; and the goodbye
   * goes to the leader last, so the electorate does not change before. `anyway`: the server stops in any case; it is
   * leaving at once, and all goodbyes are sent together. One leave at a time: a server that stops must not be brought
   * back by a leave that fails.
   */
  leave(options: { readonly anyway: boolean }): Promise<RoundResult> {
    return this.#leaves.run(() => this.#leave(options));
  }

  async #leave({ anyway }: { readonly anyway: boolean }): Promise<RoundResult> {
    const { membership, self } = this.#options;
    const wasLeaving = membership.leaving;
    this.#isSayingGoodbye = true;
    if (anyway) membership.leaving = true;
    const stay = async (): Promise<void> => {
      membership.leaving = wasLeaving;
      this.#isSayingGoodbye = false;
      if (!wasLeaving) await this.announce();
    };
    try {
      await this.#round;
      const { reached, failed, missed } = await this.#sayGoodbye(anyway);
      if (failed.length > 0 && !anyway) {
        await stay();
        return { reached, failed };
      }
      membership.leaving = true;
      this.#unconfirmed = missed;
      await membership.leave(self.identity);
      return { reached, failed: [] };
    } catch (error) {
      if (!anyway) await stay().catch(() => {});
      throw error;
    } finally {
      this.#isSayingGoodbye = false;
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the server stops"));
    await this.#running;
    await this.#round;
  }

  /** `failed`: the active members that did not confirm. `missed`: also the electors, one of which may lead next. */
  async #sayGoodbye(anyway: boolean): Promise<RoundResult & { readonly missed: ReadonlySet<string> }> {
    const { membership, leader, calls } = this.#options;
    const active = new Set(membership.active().map(({ endpoint }) => endpoint));
    active.delete(this.#options.self.endpoint);
    const known = this.#known();
    const last = anyway ? null : leader();
    const others = new Set([...known].filter((endpoint) => endpoint !== last));
    const missed = new Set<string>();
    const tell = async (endpoints: ReadonlySet<string>): Promise<RoundResult> => {
      const result = await this.#toAll(endpoints, (endpoint, signal) => calls.leave(endpoint, signal));
      for (const { endpoint } of result.failed) missed.add(endpoint);
      return { ...result, failed: result.failed.filter(({ endpoint }) => active.has(endpoint)) };
    };
    if (!anyway) {
      const { failed } = await this.#toAll(active, (endpoint, signal) => calls.reach(endpoint, signal));
      if (failed.length > 0) return { reached: [], failed, missed };
    }
    const first = await tell(others);
    if (first.failed.length > 0 || last === null || !known.has(last)) return { ...first, missed };
    const second = await tell(new Set([last]));
    return { reached: [...first.reached, ...second.reached], failed: second.failed, missed };
  }

  /** A goodbye that the leader missed would keep this server in the electorate until its announcement expires. */
  async #sayGoodbyeAgain(): Promise<void> {
    const { failed } = await this.#toAll(this.#unconfirmed, (endpoint, signal) =>
      this.#options.calls.leave(endpoint, signal),
    );
    this.#unconfirmed = new Set(failed.map(({ endpoint }) => endpoint));
  }

  /** All servers but this one that should know of this server. */
  #known(): ReadonlySet<string> {
    const { membership, self, electorate } = this.#options;
    const all = new Set(membership.active().map(({ endpoint }) => endpoint));
    for (const { endpoint } of Object.values(electorate()?.members ?? {})) all.add(endpoint);
    all.delete(self.endpoint);
    return all;
  }

  async #announce(isStart: boolean): Promise<RoundResult> {
    const { membership, self, join, calls } = this.#options;
    await membership.announce(self);
    const targets = new Set([...this.#known(), ...this.#named]);
    const isAlone = membership.active().every(({ identity }) => identity === self.identity);
    if (isAlone || isStart) for (const endpoint of join) targets.add(endpoint);
    targets.delete(self.endpoint);
    const named = new Set<string>();
    const result = await this.#toAll(targets, async (endpoint, signal) => {
      for (const each of await calls.announce(endpoint, signal)) named.add(each);
    });
    this.#named = named;
    await membership.prune(new Set(Object.keys(this.#options.electorate()?.members ?? {})));
    return result;
  }

  async #toAll(
    endpoints: ReadonlySet<string>,
    call: (endpoint: string, signal: AbortSignal) => Promise<void>,
  ): Promise<RoundResult> {
    const { clock, intervalMs, onFailure } = this.#options;
    const reached: string[] = [];
    const failed: { endpoint: string; cause: unknown }[] = [];
    const tell = (endpoint: string, signal: AbortSignal): Promise<void> =>
      call(endpoint, signal).then(
        () => void reached.push(endpoint),
        (cause: unknown) => {
          failed.push({ endpoint, cause });
          onFailure(endpoint, cause);
        },
      );
    await within(clock, { limitMs: intervalMs }, (signal) =>
      Promise.all([...endpoints].map((endpoint) => tell(endpoint, signal))),
    );
    return { reached, failed };
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const { clock, intervalMs, membership } = this.#options;
      const pause = sleep(clock, intervalMs, signal).catch(() => {});
      // If the disk fails, the next turn tries again.
      if (!membership.leaving && !this.#isSayingGoodbye) await this.announce().catch(() => {});
      else if (membership.leaving) await this.#sayGoodbyeAgain();
      await pause;
    }
  }
}
