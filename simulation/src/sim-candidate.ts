/**
 * One client's part in one group, as the design wants it: campaign, lead, renew, resign, expire. A term is led once. A
 * resign is sent only after the work, and ends the term whatever is answered.
 */
import {
  type CampaignRequest,
  type CampaignResult,
  type LedTerm,
  type RenewResult,
  sleep,
} from "@tenure/core";
import type { Random } from "@tenure/core/testing";
import type { ClientProcess } from "./checks/check.js";
import type { Environment } from "./environment.js";
import { isExpected } from "./environment.js";
import { CallLost } from "./network.js";
import { ttlsOf } from "./profile.js";
import type { Renewer } from "./renewer.js";

const CANCELLED = new CallLost("cancelled");
const LOOK_RATE = 0.5;
const AWAY_MS = [1000, 3000] as const;
const FORGET_RATE = 0.1;
const RESIGN_TRIES = 6;
const CALL_MS = 250;
/** How many calls to the store one request may take. */
const STORE_CALLS = 8;

export class SimCandidate {
  readonly #environment: Environment;
  readonly #process: ClientProcess;
  readonly #groupId: string;
  readonly #priority: number;
  readonly #random: Random;
  readonly #renewer: Renewer;
  readonly #stopping = new AbortController();
  /** Every term that this process was ever given, so that none is led twice. */
  readonly #terms = new Map<number, LedTerm>();
  readonly #callMs: number;
  readonly #mostTtlMs: number;
  #leastTtlMs: number;
  /** The terms for which it was answered that it does not lead. */
  readonly #refusedTerms = new Set<LedTerm>();
  /** The terms that it was granted again after it no longer led them. */
  readonly #uselessTerms = new Set<LedTerm>();
  #yield = false;

  constructor(
    environment: Environment,
    process: ClientProcess,
    groupId: string,
    random: Random,
    renewer: Renewer,
  ) {
    this.#environment = environment;
    this.#process = process;
    this.#groupId = groupId;
    this.#random = random;
    this.#renewer = renewer;
    this.#priority = random.int(0, 2);
    const { profile, groupIds } = environment;
    [this.#leastTtlMs, this.#mostTtlMs] = ttlsOf(profile, groupIds.indexOf(groupId));
    this.#callMs = CALL_MS + STORE_CALLS * 2 * profile.storeMs[1];
  }

  /** Ends only after `stop`. */
  async run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      await this.#rest(this.#random.between(0, 300));
      await this.#campaign();
    }
  }

  stop(): void {
    this.#stopping.abort(new CallLost("stopped"));
  }

  async #campaign(): Promise<void> {
    const { checks, modules } = this.#environment;
    const { clock } = this.#process;
    const request = this.#request();
    const cancel = new AbortController();
    const stop = () => cancel.abort(CANCELLED);
    this.#stopping.signal.addEventListener("abort", stop);
    const isCancelled =
      request.waitMs !== undefined && this.#random.chance(this.#environment.profile.cancelRate);
    const cancelTimer = isCancelled ? clock.after(this.#random.between(10, request.waitMs ?? 0), stop) : null;
    const sent = modules.core.sendMoment(clock);
    let isElected = false;
    try {
      const result = await this.#send(
        request,
        cancel.signal,
        (answer) => (isElected = answer.kind === "elected"),
      );
      if (result.kind === "lost")
        return await this.#rest(Math.min(result.retryAfterMs, this.#random.between(20, 400)));
      const term = this.#term(result.leader.term);
      const isLed = term.extend({ sent, ttlMs: request.ttlMs, waitedMs: result.waitedMs });
      this.#yield = result.transferTo !== undefined;
      if (isLed) return await this.#lead(term, request.ttlMs);
      this.#environment.counts.uselessGrants++;
      // Over for good, or the answer was too late: then another campaign may still be confirmed, once.
      const again = !this.#uselessTerms.has(term) && this.#random.chance(0.3);
      if (again) this.#uselessTerms.add(term);
      else await this.#resign(term);
    } catch (error) {
      this.#refused(error);
      // A client that does not ask stays away for a while, and leaves it to the server to take back what was won.
      if (cancel.signal.aborted) {
        this.#note("gives its campaign up");
        if (isElected)
          checks.onWinGivenUp({ process: this.#process, groupId: this.#groupId, ttlMs: request.ttlMs });
        if (this.#random.chance(LOOK_RATE)) await this.#lookWhetherElected();
        else await this.#rest(this.#random.between(...AWAY_MS));
      }
    } finally {
      cancelTimer?.();
      this.#stopping.signal.removeEventListener("abort", stop);
    }
  }

  #request(): CampaignRequest {
    const { nodeId, instanceId } = this.#process;
    const ttlMs = this.#random.int(this.#leastTtlMs, this.#mostTtlMs);
    const { waitRate, waitMs: waitsMs, coldRate } = this.#environment.profile;
    const waitMs = this.#random.chance(waitRate) ? this.#random.int(...waitsMs) : undefined;
    const request = { groupId: this.#groupId, nodeId, ttlMs, instanceId, waitMs, priority: this.#priority };
    return coldRate === 0 ? request : { ...request, ready: !this.#random.chance(coldRate) };
  }

  #send(
    request: CampaignRequest,
    signal: AbortSignal,
    onAnswer: (result: CampaignResult) => void,
  ): Promise<CampaignResult> {
    const { network, checks, random, servers } = this.#environment;
    const cold = request.ready === false ? ", cold" : "";
    this.#note(`campaigns, ttl ${request.ttlMs}, wait ${request.waitMs ?? 0}${cold}`);
    return network.call({
      from: this.#process.clock,
      server: random.pick(servers),
      timeoutMs: (request.waitMs ?? 0) + this.#callMs,
      signal,
      campaign: request,
      run: (elector, options) => elector.campaign(request, options),
      onAnswer: (result, arrivedMs, answeredMs) => {
        onAnswer(result);
        checks.onAnswer({ verb: "campaign", request, result, arrivedMs, answeredMs });
      },
      onError: (error) => this.#checkError(error),
    });
  }

  async #lead(term: LedTerm, ttlMs: number): Promise<void> {
    const { checks, counts, led } = this.#environment;
    const { clock } = this.#process;
    const lead = { process: this.#process, groupId: this.#groupId, led: term };
    counts.elections++;
    led.add(`${this.#groupId} ${term.term}`);
    checks.onLead(lead);
    this.#note(`leads term ${term.term} for ${term.leftMs().toFixed(1)} ms`);
    const workUntilMs = clock.monotonicMs() + this.#random.between(...this.#environment.profile.workMs);
    const sinceMs = clock.monotonicMs();
    // A long wait costs some of the first lease.
    let renewAtMs = clock.monotonicMs() + Math.min(ttlMs, term.leftMs()) / 3;
    while (
      term.isInside() &&
      clock.monotonicMs() < workUntilMs &&
      !this.#yield &&
      !this.#stopping.signal.aborted
    ) {
      if (clock.monotonicMs() >= renewAtMs) {
        renewAtMs += ttlMs / 3;
        void this.#renew(term, this.#random.chance(0.8) ? ttlMs : this.#otherTtl(ttlMs));
      }
      await this.#rest(
        Math.min(term.leftMs(), renewAtMs - clock.monotonicMs(), workUntilMs - clock.monotonicMs()),
      );
    }
    this.#note(`${term.isInside() ? "ends" : "has lost"} term ${term.term}`);
    // A first lease that a long wait has left hardly anything of may end before the first renewal is answered.
    const isRenewed = clock.monotonicMs() - sinceMs > ttlMs / 2;
    const lapsed = isRenewed && !term.isInside() && !this.#refusedTerms.has(term);
    checks.onStop(lead, lapsed ? "lapsed" : "ended");
    const forgets = this.#random.chance(FORGET_RATE);
    if (forgets) term.end();
    else await this.#resign(term);
  }

  /** A lease shorter than the time between two renewals expires by itself; that is no fault of the elector. */
  #otherTtl(ttlMs: number): number {
    const { time, profile } = this.#environment;
    const isPeace = time.monotonicMs() >= profile.chaosMs;
    const leastMs = isPeace ? Math.max(this.#leastTtlMs, Math.ceil(0.7 * ttlMs)) : this.#leastTtlMs;
    return this.#random.int(Math.min(leastMs, this.#mostTtlMs), this.#mostTtlMs);
  }

  async #renew(term: LedTerm, ttlMs: number): Promise<void> {
    const { nodeId, instanceId, clock } = this.#process;
    const sent = this.#environment.modules.core.sendMoment(clock);
    const isClaimed = instanceId !== undefined && this.#random.chance(0.9);
    const claim = isClaimed ? { instanceId } : {};
    try {
      const request = { groupId: this.#groupId, nodeId, term: term.term, ttlMs, ...claim };
      const result: RenewResult = await this.#renewer.renew(request, Math.max(60, ttlMs / 3));
      if (result.kind === "not-leader") {
        this.#note(`does not lead term ${term.term}`);
        this.#refusedTerms.add(term);
        term.end();
      } else {
        const isLed = term.extend({ sent, ttlMs });
        if (isLed)
          this.#environment.checks.onLead({ process: this.#process, groupId: this.#groupId, led: term });
        this.#yield ||= result.transferTo !== undefined;
      }
    } catch (error) {
      this.#refused(error);
    }
  }

  /** Before the first attempt is sent the term is over, for good. */
  async #resign(term: LedTerm): Promise<void> {
    const { checks, network, random, servers } = this.#environment;
    const { nodeId, instanceId, clock } = this.#process;
    term.end();
    const request = { groupId: this.#groupId, nodeId, term: term.term, instanceId };
    checks.onResignSent(request);
    this.#note(`resigns term ${term.term}`);
    for (let i = 0; i < RESIGN_TRIES; i++) {
      try {
        await network.call({
          from: clock,
          server: random.pick(servers),
          timeoutMs: this.#callMs,
          run: (elector, options) => elector.resign(request, options),
          onAnswer: (result, arrivedMs, answeredMs) =>
            checks.onAnswer({ verb: "resign", request, result, arrivedMs, answeredMs }),
          onError: (error) => this.#checkError(error),
        });
        return;
      } catch {
        await sleep(clock, this.#random.between(10, 80));
      }
    }
  }

  /** A candidate that stops has closed its connection; if it was elected all the same, it gives that back. */
  async #lookWhetherElected(): Promise<void> {
    const { network, random, servers } = this.#environment;
    const { clock, nodeId } = this.#process;
    const { leader } = await network
      .call({
        from: clock,
        server: random.pick(servers),
        timeoutMs: this.#callMs,
        run: (elector, options) => elector.leader(this.#groupId, options),
        onError: (error) => this.#checkError(error),
      })
      .catch(() => ({ leader: null }));
    if (leader?.nodeId === nodeId) await this.#resign(this.#term(leader.term));
  }

  #term(number: number): LedTerm {
    const { modules, driftRatio } = this.#environment;
    let term = this.#terms.get(number);
    if (term === undefined) {
      term = new modules.core.LedTerm(number, this.#process.clock, driftRatio);
      this.#terms.set(number, term);
    }
    return term;
  }

  /** The policy may have come to admit only longer leases. */
  #refused(error: unknown): void {
    if (error instanceof this.#environment.modules.core.InvalidTtlError)
      this.#leastTtlMs = Math.min(error.minTtlMs, this.#mostTtlMs);
  }

  #checkError(error: unknown): void {
    if (!isExpected(this.#environment, error)) this.#environment.checks.unexpected(error);
  }

  /** A wait that stopping cuts short. */
  #rest(delayMs: number): Promise<void> {
    if (this.#stopping.signal.aborted) return Promise.resolve();
    return sleep(this.#process.clock, Math.max(0, delayMs), this.#stopping.signal).catch(() => {});
  }

  #note(what: string): void {
    this.#environment.trace?.note(this.#process.name, what);
  }
}
