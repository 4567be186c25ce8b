/**
 * Test only: one server's view of the naive model at one moment, and how it decides a command. See
 * `naive-twin.test-kit.ts`.
 */
import type { HeldBack } from "../elector.js";
import type { EndReason, LeadershipEvent } from "../event.js";
import { DEFAULT_POLICY, type GroupPolicy } from "../policy.js";
import type { GroupConfig, Holder } from "../record.js";
import type { Claim } from "./claim.js";
import type { Arrival } from "./waiters.test-kit.js";
import {
  type Command,
  LONG_AGO,
  type NaiveOutcome,
  type NaiveState,
  type NaiveTerm,
  OPERATOR,
  UNTIL_RESUMED,
} from "./naive-state.test-kit.js";

/** One server's view at one moment, and how it decides a command. */
export class NaiveBelief {
  readonly state: NaiveState;
  wrote = false;
  readonly #nowMs: number;
  readonly #wallMs: number;

  constructor(truth: NaiveState, nowMs: number, lagMs: number, wallMs: number) {
    // Written in whole microseconds from now, never less than what is left.
    const believe = (untilMs: number) =>
      Number.isFinite(untilMs) ? nowMs + Math.ceil((untilMs + lagMs - nowMs) * 1000) / 1000 : untilMs;
    this.state = {
      ...truth,
      terms: truth.terms.map((each) => ({ ...each })),
      events: [...truth.events],
      leaseUntilMs: believe(truth.leaseUntilMs),
      bans: truth.bans.map((ban) => ({ ...ban, untilMs: believe(ban.untilMs) })),
      successor:
        truth.successor === null ? null : { ...truth.successor, untilMs: believe(truth.successor.untilMs) },
      pausedUntilMs: believe(truth.pausedUntilMs),
      restsUntilMs: believe(truth.restsUntilMs),
    };
    this.#nowMs = nowMs;
    this.#wallMs = wallMs;
  }

  apply(command: Command): NaiveOutcome {
    switch (command.verb) {
      case "campaign":
        return this.#campaign(command.candidate);
      case "renew":
        return this.#renew(command.claim, command.ttlMs);
      case "resign":
        return this.#resign(command.claim, command.waiters);
      case "upkeep":
        return this.#upkeep(command.waiters);
      case "step-down":
        return this.#stepDown(command.banMs, command.force, command.waiters);
      case "transfer":
        return this.#transfer(command.toNodeId, command.timeoutMs, command.allowCold);
      case "pause":
        this.state.pausedUntilMs = command.forMs === null ? UNTIL_RESUMED : this.#nowMs + command.forMs;
        this.state.deleted = false;
        return this.#write("write");
      case "resume":
        if (this.state.deleted) return { kind: "not-found" };
        if (!this.#isPaused) return { kind: "unchanged" };
        this.state.pausedUntilMs = LONG_AGO;
        return this.#write("write");
      case "create":
        if (this.state.config !== null) return { kind: "conflict" };
        this.#configure(command.config);
        return this.#write("write");
      case "update":
        if (this.state.deleted) return { kind: "not-found" };
        this.#configure(command.config);
        return this.#write("write");
      case "delete":
        return this.#delete(command.force);
    }
  }

  get #policy(): GroupPolicy {
    return this.state.config?.policy ?? DEFAULT_POLICY;
  }

  get #led(): NaiveTerm | null {
    const last = this.state.terms.at(-1);
    return last === undefined || last.ended !== null ? null : last;
  }

  get #isLeaseRunning(): boolean {
    return this.#led !== null && this.#nowMs < this.state.leaseUntilMs;
  }

  get #isPaused(): boolean {
    return this.#nowMs < this.state.pausedUntilMs;
  }

  get #liveSuccessor(): NaiveState["successor"] {
    const { successor } = this.state;
    return successor !== null && this.#nowMs < successor.untilMs ? successor : null;
  }

  #isAllowed(nodeId: string): boolean {
    return this.state.config?.allowedNodes?.includes(nodeId) ?? true;
  }

  #bansOf(nodeId: string): { untilMs: number }[] {
    return this.state.bans.filter((ban) => ban.nodeId === nodeId && this.#nowMs < ban.untilMs);
  }

  #write(kind: string): NaiveOutcome {
    this.wrote = true;
    return { kind };
  }

  #campaign(candidate: Holder): NaiveOutcome {
    const led = this.#led;
    if (!this.#isAllowed(candidate.nodeId)) return { kind: "not-allowed" };
    if (!this.#isTtlAdmitted(candidate.ttlMs)) return { kind: "invalid-ttl" };
    const isHolder =
      led?.holder.nodeId === candidate.nodeId && led.holder.instanceId === candidate.instanceId;
    if (led !== null && isHolder && this.state.deposedBy === null) {
      led.holder = candidate;
      this.#prolong(candidate.ttlMs);
      return this.#write("confirm");
    }
    if (led !== null && this.#isLeaseRunning) {
      const leftMs = this.state.leaseUntilMs - this.#nowMs;
      return this.state.deposedBy === null
        ? { kind: "lose", leaderNodeId: led.holder.nodeId, heldBack: [] }
        : { kind: "lose", leaderNodeId: null, heldBack: [{ by: "deposed", leftMs }] };
    }
    if (led !== null) this.#end("expired");
    const heldBack = this.#obstaclesOf(candidate.nodeId);
    if (led !== null && heldBack.length > 0) return this.#write("expire");
    if (heldBack.length > 0) return { kind: "lose", leaderNodeId: null, heldBack };
    this.#begin(candidate);
    return this.#write("elect");
  }

  #renew(claim: Claim, ttlMs: number): NaiveOutcome {
    const led = this.#led;
    if (led === null || !this.#isOf(led, claim) || this.state.deposedBy !== null) {
      return this.#notLeader();
    }
    if (!this.#isTtlAdmitted(ttlMs)) return { kind: "invalid-ttl" };
    led.holder = { ...led.holder, ttlMs };
    this.#prolong(ttlMs);
    return this.#write("renew");
  }

  /** A deposed leader is no longer named. */
  #notLeader(): NaiveOutcome {
    const named = this.state.deposedBy === null ? this.#led : null;
    return { kind: "not-leader", leaderNodeId: named?.holder.nodeId ?? null };
  }

  #resign(claim: Claim, waiters: readonly Arrival[]): NaiveOutcome {
    const led = this.#led;
    if (led !== null && this.#isOf(led, claim)) {
      this.#end(this.#liveSuccessor?.ready === true ? "transferred" : "resigned");
      this.#fill(waiters);
      return this.#write("resign");
    }
    const ended = this.state.terms.findLast((each) => each.ended !== null);
    if (ended !== undefined && this.#isOf(ended, claim) && ended.ended !== "expired") {
      return { kind: "already-resigned" };
    }
    return this.#notLeader();
  }

  #upkeep(waiters: readonly Arrival[]): NaiveOutcome {
    const led = this.#led;
    if (led !== null && this.#isLeaseRunning) return this.#upkeepOfLed(led, waiters);
    const best = this.#bestOf(waiters, led !== null);
    if (best !== null) return this.#campaign(best);
    if (led === null) return { kind: "rest" };
    this.#end("expired");
    return this.#write("write");
  }

  #upkeepOfLed(led: NaiveTerm, waiters: readonly Arrival[]): NaiveOutcome {
    if (this.state.deposedBy !== null) return { kind: "rest" };
    const again = waiters.find(
      ({ candidate }) =>
        candidate.nodeId === led.holder.nodeId && candidate.instanceId === led.holder.instanceId,
    );
    if (again !== undefined) return this.#campaign(again.candidate);
    const successor = this.#liveSuccessor;
    if (successor !== null) {
      const there = waiters.filter(({ candidate }) => candidate.nodeId === successor.nodeId);
      const isFit = there.some(({ ready }) => ready || successor.allowCold);
      if (successor.ready || !isFit) return { kind: "rest" };
      successor.ready = true;
      return this.#write("write");
    }
    if (!this.#policy.preempt || this.#isPaused) return { kind: "rest" };
    const challenger = highest(
      waiters
        .filter(({ ready }) => ready)
        .map(({ candidate }) => candidate)
        .filter(
          (each) =>
            each.priority > led.holder.priority &&
            this.#isAllowed(each.nodeId) &&
            this.#bansOf(each.nodeId).length === 0,
        ),
    );
    if (challenger === null) return { kind: "rest" };
    this.state.successor = {
      nodeId: challenger.nodeId,
      untilMs: this.#nowMs + 10_000,
      ready: true,
      by: null,
      allowCold: false,
    };
    return this.#write("write");
  }

  #stepDown(banMs: number, force: boolean, waiters: readonly Arrival[]): NaiveOutcome {
    if (this.state.deleted) return { kind: "not-found" };
    const led = this.#led;
    if (led === null) return { kind: "conflict" };
    const { nodeId } = led.holder;
    this.state.deposedBy = OPERATOR;
    this.state.successor = null;
    if (banMs > 0) {
      this.state.bans = this.state.bans.filter((ban) => ban.nodeId !== nodeId);
      this.state.bans.push({ nodeId, untilMs: this.#nowMs + banMs });
    }
    if (force || !this.#isLeaseRunning) {
      this.#end("deposed");
      this.#fill(waiters);
    }
    return this.#write("write");
  }

  #transfer(toNodeId: string, timeoutMs: number, allowCold: boolean): NaiveOutcome {
    if (this.state.deleted) return { kind: "not-found" };
    const led = this.#led;
    if (led === null || !this.#isLeaseRunning || this.state.deposedBy !== null) return { kind: "conflict" };
    if (led.holder.nodeId === toNodeId) return { kind: "unchanged" };
    const couldWin = this.#isAllowed(toNodeId) && this.#bansOf(toNodeId).length === 0;
    if (this.#isPaused || this.#liveSuccessor !== null || !couldWin) return { kind: "conflict" };
    this.state.successor = {
      nodeId: toNodeId,
      untilMs: this.#nowMs + timeoutMs,
      ready: false,
      by: OPERATOR,
      allowCold,
    };
    return this.#write("write");
  }

  #configure(config: GroupConfig): void {
    this.state.config = config;
    this.state.deleted = false;
    const { successor } = this.state;
    if (this.#led !== null && !this.#isAllowed(this.#led.holder.nodeId)) {
      this.state.deposedBy ??= OPERATOR;
      this.state.successor = null;
    } else if (successor !== null && !this.#isAllowed(successor.nodeId)) {
      this.state.successor = null;
    }
  }

  #delete(force: boolean): NaiveOutcome {
    if (this.state.deleted) return { kind: "not-found" };
    if (this.#isLeaseRunning && !force) return { kind: "conflict" };
    if (this.#led !== null) this.#end(this.#isLeaseRunning ? "deposed" : "expired", OPERATOR);
    Object.assign(this.state, {
      leaseUntilMs: LONG_AGO,
      deposedBy: null,
      bans: [],
      successor: null,
      pausedUntilMs: LONG_AGO,
      restsUntilMs: LONG_AGO,
      config: null,
      deleted: true,
      dropped: Math.max(0, this.state.events.length - 1),
    });
    return this.#write("write");
  }

  #isTtlAdmitted(ttlMs: number): boolean {
    return ttlMs >= this.#policy.minTtlMs && ttlMs <= this.#policy.maxTtlMs;
  }

  #isOf({ term, holder }: NaiveTerm, claim: Claim): boolean {
    if (term !== claim.term || holder.nodeId !== claim.nodeId) return false;
    return claim.instanceId === null || claim.instanceId === holder.instanceId;
  }

  /** Nothing shortens a lease. The margin is one percent, in whole numbers. */
  #prolong(ttlMs: number): void {
    const holdMs = Math.ceil((ttlMs * 101) / 100);
    this.state.leaseUntilMs = Math.max(this.state.leaseUntilMs, this.#nowMs + holdMs);
  }

  #obstaclesOf(nodeId: string): { by: HeldBack; leftMs: number | null }[] {
    const found: { by: HeldBack; leftMs: number | null }[] = [];
    const { pausedUntilMs, restsUntilMs } = this.state;
    const left = (untilMs: number) => (untilMs === UNTIL_RESUMED ? null : untilMs - this.#nowMs);
    const successor = this.#liveSuccessor;
    if (this.#isPaused) found.push({ by: "paused", leftMs: left(pausedUntilMs) });
    for (const ban of this.#bansOf(nodeId)) found.push({ by: "banned", leftMs: left(ban.untilMs) });
    if (successor !== null && successor.nodeId !== nodeId) {
      found.push({ by: "reserved", leftMs: left(successor.untilMs) });
    }
    if (this.#nowMs < restsUntilMs) found.push({ by: "takeover_delay", leftMs: left(restsUntilMs) });
    return found;
  }

  /** Among the candidates that could win the vacancy, present or future (once a lapsed term is ended). */
  #bestOf(waiters: readonly Arrival[], lapsed: boolean): Holder | null {
    if (lapsed && this.state.deposedBy === null && this.#policy.takeoverDelayMs > 0) return null;
    const successor = this.state.successor;
    if (lapsed) this.state.successor = null;
    const all = waiters.filter(({ candidate }) => this.#isFree(candidate.nodeId));
    const warm = all.filter(({ ready }) => ready);
    const free = (warm.length > 0 ? warm : all).map(({ candidate }) => candidate);
    this.state.successor = successor;
    return this.#policy.strategy === "first" ? (free[0] ?? null) : highest(free);
  }

  #isFree(nodeId: string): boolean {
    return this.#isAllowed(nodeId) && this.#obstaclesOf(nodeId).length === 0;
  }

  #fill(waiters: readonly Arrival[]): void {
    const best = this.#bestOf(waiters, false);
    if (best !== null && this.#isTtlAdmitted(best.ttlMs)) this.#begin(best);
  }

  #begin(holder: Holder): void {
    const previous = this.state.terms.at(-1);
    const term = this.state.terms.length + 1;
    this.state.terms.push({ term, holder, ended: null });
    this.state.leaseUntilMs = LONG_AGO;
    this.#prolong(holder.ttlMs);
    this.state.successor = null;
    this.state.restsUntilMs = LONG_AGO;
    this.state.deleted = false;
    this.#event({
      type: "LEADER_CHANGED",
      term,
      leaderNodeId: holder.nodeId,
      previousLeaderNodeId: previous?.holder.nodeId ?? null,
      reason: previous?.ended ?? "none",
    });
  }

  /** `by`: the operator, if the end is an operator's action. */
  #end(how: EndReason, by: string | null = null): void {
    const led = this.#led;
    if (led === null) return;
    const { deposedBy } = this.state;
    const reason = deposedBy === null ? how : "deposed";
    led.ended = reason;
    const who = deposedBy ?? by ?? (reason === "transferred" ? this.state.successor?.by : null) ?? null;
    this.state.leaseUntilMs = LONG_AGO;
    this.state.deposedBy = null;
    const successor = this.#liveSuccessor;
    if (how === "expired" || successor?.ready !== true) this.state.successor = null;
    else this.state.successor = { ...successor, untilMs: Math.min(successor.untilMs, this.#nowMs + 2_000) };
    if (reason === "expired") this.state.restsUntilMs = this.#nowMs + this.#policy.takeoverDelayMs;
    this.#event({
      type: "LEADER_LOST",
      term: led.term,
      leaderNodeId: null,
      previousLeaderNodeId: led.holder.nodeId,
      reason,
      ...(who === null ? {} : { by: who }),
    });
  }

  #event(event: Omit<LeadershipEvent, "number" | "tsMs">): void {
    this.state.events.push({ number: this.state.events.length + 1, ...event, tsMs: this.#wallMs });
  }
}

/** The first to come among equals. */
function highest(waiters: readonly Holder[]): Holder | null {
  const best = Math.max(...waiters.map((each) => each.priority));
  return waiters.find((each) => each.priority === best) ?? null;
}
