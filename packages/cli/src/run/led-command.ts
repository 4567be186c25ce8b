/**
 * A command that runs only while this node leads.
 *
 * Promised: it is dead, with everything in its process group, before the lease can end elsewhere; whatever it does with
 * signals, and also if this process is stopped or killed, or the network is gone. The lease is given back only after that.
 */
import type { DemoteReason, Election, ElectionEvent, LeaseTime, Mandate } from "@tenure/client";
import { type CommandEnd, GuardedCommand } from "@tenure/coordinator";
import { type Clock, sleep } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";
import { campaignUntilStopped } from "./campaigning.js";
import type { LeadershipHooks } from "./leadership-hooks.js";

export interface LedCommandOptions {
  readonly election: Election;
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Run it again when it ends by itself. */
  readonly restart: boolean;
  /** Do not campaign again after the leadership was lost. */
  readonly exitWhenLost: boolean;
  readonly stopSignal: NodeJS.Signals;
  /** Time between the signal and SIGKILL, unless the lease ends sooner. */
  readonly graceMs: number;
  readonly killMarginMs: number;
  /** How often the guardian is sent the remaining time of the lease. */
  readonly tellEveryMs: number;
  readonly restartDelayMs: number;
  readonly clock: Clock;
  /** Never wait: end if this node does not lead at once, and after it has led. */
  readonly once: boolean;
  readonly hooks: LeadershipHooks;
  readonly running: (mandate: Mandate) => Promise<void>;
  readonly ended: () => Promise<void>;
  readonly teller: LedCommandTeller;
}

/** Called with what happens, to be shown to the user. It is called before the command is signalled, so it must not block or throw. */
export interface LedCommandTeller {
  notice(event: ElectionEvent): void;
  elected(mandate: Mandate): void;
  lost(mandate: Mandate, reason: DemoteReason, error: unknown): void;
  /** The stop signal was sent; the command is killed after `killInMs`. */
  stopping(signal: NodeJS.Signals, killInMs: number): void;
  killing(because: "grace" | "lease"): void;
  exited(end: CommandEnd, restartInMs: number | null): void;
}

export type RunEnd =
  /** The command ended by itself, or because the user stopped it. */
  | { readonly kind: "ended"; readonly end: CommandEnd }
  | { readonly kind: "lost" }
  /** By the user, while it did not run. */
  | { readonly kind: "stopped" };

/** While the work ends for one of these reasons, the lease is renewed. */
const RENEWED: ReadonlySet<DemoteReason> = new Set(["stopped", "finished", "resigned", "transferred"]);

export class LedCommand {
  readonly #options: LedCommandOptions;
  #end: RunEnd = { kind: "stopped" };

  constructor(options: LedCommandOptions) {
    this.#options = options;
  }

  /** Campaigns, and runs the command while this node leads. `signal` is aborted when the user stops it. */
  async run(signal: AbortSignal): Promise<RunEnd> {
    const { election, once, hooks, teller } = this.#options;
    const started = (): void => {
      if (!once || election.isLeader()) return;
      this.#end = { kind: "lost" };
      void election.stop();
    };
    const lead = (mandate: Mandate, losing: AbortSignal, lease: LeaseTime) =>
      this.#lead(mandate, losing, lease);
    const notice = (event: ElectionEvent) => teller.notice(event);
    try {
      await campaignUntilStopped({ election, lead, started, notice, acceptsNoRefusal: once }, signal);
      return this.#end;
    } finally {
      await hooks.ended;
    }
  }

  async #lead(mandate: Mandate, losing: AbortSignal, lease: LeaseTime): Promise<void> {
    const { election, exitWhenLost, once, hooks, teller } = this.#options;
    const stopListening = onAbort(losing, () => this.#losing(mandate));
    let hasFinished = false;
    try {
      teller.elected(mandate);
      await hooks.won(mandate, losing, lease);
      hasFinished = await this.#whileLeading(mandate, losing, lease);
    } finally {
      stopListening();
      hooks.lost(mandate, hasFinished ? "finished" : this.#reason());
    }
    const reason = this.#reason();
    if (reason === "stopped") return;
    this.#end = { kind: exitWhenLost || once ? "lost" : "stopped" };
    if (exitWhenLost || once) void election.stop();
  }

  /** Returns whether the command ended by itself and is not run again. */
  async #whileLeading(mandate: Mandate, losing: AbortSignal, lease: LeaseTime): Promise<boolean> {
    const { election, restart, restartDelayMs, clock, teller } = this.#options;
    while (!losing.aborted) {
      const end = await this.#once(mandate, losing, lease);
      this.#end = { kind: "ended", end };
      // The guardian killed it because the lease ended: the leadership is over, or the command is run again.
      if (end.byLease) election.isLeader();
      const isRunAgain = !losing.aborted && (restart || end.byLease);
      const delayMs = end.byLease ? 0 : restartDelayMs;
      teller.exited(end, isRunAgain ? delayMs : null);
      if (!losing.aborted && !isRunAgain) {
        void election.stop();
        return true;
      }
      if (isRunAgain) await sleep(clock, delayMs, losing).catch(() => {});
    }
    return false;
  }

  #losing(mandate: Mandate): void {
    const { state } = this.#options.election.status();
    if (state.kind === "stepping-down") this.#options.teller.lost(mandate, state.reason, state.error);
  }

  #reason(): DemoteReason {
    const { state } = this.#options.election.status();
    return state.kind === "stepping-down" ? state.reason : "stopped";
  }

  async #once(mandate: Mandate, losing: AbortSignal, lease: LeaseTime): Promise<CommandEnd> {
    const { file, args, env, killMarginMs, tellEveryMs } = this.#options;
    const leadership = { TENURE_TERM: String(mandate.term), TENURE_GROUP: mandate.groupId };
    // Set even if there is none: this process may itself run under `tenure run`, and must not pass on that token.
    const token = { TENURE_TOKEN: mandate.token };
    const command = new GuardedCommand({
      command: { file, args, env: { ...env, ...leadership, ...token }, cwd: null },
      lease,
      killMarginMs,
      tellEveryMs,
    });
    const stop = () => this.#stop(command, lease);
    const stopListening = onAbort(losing, stop);
    if (losing.aborted) stop();
    try {
      await this.#options.running(mandate);
      return await command.ended;
    } catch (error) {
      // Whatever failed, the lease is kept while any process of the command runs.
      command.kill();
      await command.ended.catch(() => {});
      throw error;
    } finally {
      stopListening();
      await this.#options.ended();
    }
  }

  #stop(command: GuardedCommand, lease: LeaseTime): void {
    const { stopSignal, graceMs, killMarginMs, teller } = this.#options;
    const leaseMs = RENEWED.has(this.#reason()) ? Number.POSITIVE_INFINITY : lease.leftMs() - killMarginMs;
    if (leaseMs > 0) teller.stopping(stopSignal, Math.min(graceMs, leaseMs));
    // It rejects if the command cannot be run, which `ended` reports.
    command.end(stopSignal, graceMs, (because) => teller.killing(because)).catch(() => {});
  }
}
