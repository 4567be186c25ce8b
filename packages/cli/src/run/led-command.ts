/**
 * A command that runs only while this node leads.
 *
 * Promised: it is dead, with everything in its process group, before the lease can end elsewhere; whatever it does with
 * signals, and also if this process is stopped or killed, or the network is gone. The lease is given back only after that.
 */
import type { Election, ElectionEvent, LeaseTime, Mandate } from "@tenure/client";
import { type CommandEnd, GuardedCommand } from "@tenure/coordinator";
import { BackendUnavailableError, type Clock, sleep } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";

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
  /** Before the first wait: lose at once if another leads. */
  readonly once: boolean;
  readonly running: (mandate: Mandate) => Promise<void>;
  readonly ended: () => Promise<void>;
  /** Called with each event of the election, to be shown to the user. */
  readonly notice: (event: ElectionEvent) => void;
}

export type RunEnd =
  /** The command ended by itself, or because the user stopped it. */
  | { readonly kind: "ended"; readonly end: CommandEnd }
  | { readonly kind: "lost" }
  /** By the user, while it did not run. */
  | { readonly kind: "stopped" };

export class LedCommand {
  readonly #options: LedCommandOptions;
  #end: RunEnd = { kind: "stopped" };

  constructor(options: LedCommandOptions) {
    this.#options = options;
  }

  /** Campaigns, and runs the command while this node leads. `signal` is aborted when the user stops it. */
  async run(signal: AbortSignal): Promise<RunEnd> {
    const { election, once, notice } = this.#options;
    const failed = new Promise<never>((_resolve, reject) => {
      election.onPromote((mandate, losing, lease) =>
        this.#lead(mandate, losing, lease).catch((error: unknown) => {
          reject(error);
          void election.stop();
        }),
      );
    });
    failed.catch(() => {});
    const stop = () => void election.stop();
    const stopListening = onAbort(signal, stop);
    try {
      const events = election.changes();
      await election.start();
      if (signal.aborted) stop();
      if (once && !election.isLeader()) {
        // Without an answer the leadership is not lost yet.
        if (election.status().connection === "disconnected")
          throw new BackendUnavailableError("no server responded, so the campaign was not tried");
        this.#end = { kind: "lost" };
        stop();
      }
      for await (const event of events) {
        if (event.kind === "failed") throw event.error;
        notice(event);
      }
      await Promise.race([failed, Promise.resolve()]);
      return this.#end;
    } finally {
      stopListening();
      await election.stop();
    }
  }

  async #lead(mandate: Mandate, losing: AbortSignal, lease: LeaseTime): Promise<void> {
    const { election, restart, restartDelayMs, clock, exitWhenLost } = this.#options;
    while (!losing.aborted) {
      const end = await this.#once(mandate, losing, lease);
      this.#end = { kind: "ended", end };
      // The guardian killed it because the lease ended: the leadership is over, or the command is run again.
      if (end.byLease) election.isLeader();
      else if (!losing.aborted && !restart) void election.stop();
      else if (restart) await sleep(clock, restartDelayMs, losing).catch(() => {});
    }
    const { state } = election.status();
    const lost = state.kind === "stepping-down" && state.reason !== "stopped";
    if (!lost) return;
    this.#end = { kind: exitWhenLost ? "lost" : "stopped" };
    if (exitWhenLost) void election.stop();
  }

  async #once(mandate: Mandate, losing: AbortSignal, lease: LeaseTime): Promise<CommandEnd> {
    const { file, args, env, killMarginMs, tellEveryMs, stopSignal, graceMs } = this.#options;
    const leadership = { TENURE_TERM: String(mandate.term), TENURE_GROUP: mandate.groupId };
    // Set even if there is none: this process may itself run under `tenure run`, and must not pass on that token.
    const token = { TENURE_TOKEN: mandate.token };
    const command = new GuardedCommand({
      command: { file, args, env: { ...env, ...leadership, ...token }, cwd: null },
      lease,
      killMarginMs,
      tellEveryMs,
    });
    const stop = () => void command.end(stopSignal, graceMs);
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
}
