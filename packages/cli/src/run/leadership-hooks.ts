/**
 * The shell commands of `--on-win` and `--on-lose`.
 *
 * `--on-win` acts for the leader, so it is guarded like the command: it is killed when the leadership is lost, and in any case before
 * the lease ends. `--on-lose` runs after the command has ended, while the lease is given back, and delays nothing: another node may
 * lead meanwhile. The two never overlap. Both are killed after the time limit, and with `tenure run` itself.
 */
import type { DemoteReason, LeaseTime, Mandate } from "@tenure/client";
import { GuardedCommand } from "@tenure/coordinator";
import type { Clock } from "@tenure/core";
import { onAbort, unlessAborted } from "@tenure/core/internal";
import { tellDuration } from "../frame/duration.js";

export type HookOption = "--on-win" | "--on-lose";

export interface LeadershipHooksOptions {
  readonly onWin: string | undefined;
  readonly onLose: string | undefined;
  readonly timeoutMs: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly killMarginMs: number;
  readonly tellEveryMs: number;
  readonly clock: Clock;
  readonly failed: (hook: HookOption, problem: string, exitCode: number | null) => void;
}

export class LeadershipHooks {
  readonly #options: LeadershipHooksOptions;
  #losing: Promise<void> = Promise.resolve();

  constructor(options: LeadershipHooksOptions) {
    this.#options = options;
  }

  /** Resolves when `--on-lose` no longer runs. */
  get ended(): Promise<void> {
    return this.#losing;
  }

  /** Resolves when `--on-win` has ended, and all its processes are gone. */
  async won(mandate: Mandate, losing: AbortSignal, lease: LeaseTime): Promise<void> {
    const { onWin } = this.#options;
    if (onWin === undefined) return;
    await unlessAborted(losing, this.#losing).catch(() => {});
    if (losing.aborted) return;
    await this.#run("--on-win", onWin, mandate, "elected", () => lease.leftMs(), losing);
  }

  /** Starts `--on-lose`. */
  lost(mandate: Mandate, reason: DemoteReason): void {
    const { onLose } = this.#options;
    if (onLose === undefined) return;
    const run = () => this.#run("--on-lose", onLose, mandate, reason, () => Number.POSITIVE_INFINITY, null);
    this.#losing = this.#losing.then(run);
  }

  async #run(
    hook: HookOption,
    text: string,
    { groupId, nodeId, term, token }: Mandate,
    reason: string,
    leaseLeftMs: () => number,
    losing: AbortSignal | null,
  ): Promise<void> {
    const { env, clock, timeoutMs, killMarginMs, tellEveryMs, failed } = this.#options;
    const untilMs = clock.monotonicMs() + timeoutMs;
    const command = new GuardedCommand({
      command: {
        file: "/bin/sh",
        // The input of `tenure run` is the command's.
        args: ["-c", 'eval "$1" </dev/null', "sh", text],
        env: {
          ...env,
          TENURE_GROUP: groupId,
          TENURE_NODE_ID: nodeId,
          TENURE_TERM: String(term),
          TENURE_TOKEN: losing === null ? undefined : token,
          TENURE_REASON: reason,
        },
        cwd: null,
      },
      lease: { leftMs: () => Math.min(leaseLeftMs(), untilMs + killMarginMs - clock.monotonicMs()) },
      killMarginMs,
      tellEveryMs,
      clock,
    });
    const stopListening = onAbort(losing ?? undefined, () => command.kill());
    try {
      const { code, signal, byLease } = await command.ended;
      // Killed because the leadership was lost, which is reported by itself.
      if (code === 0 || losing?.aborted === true || (byLease && leaseLeftMs() <= killMarginMs)) return;
      if (byLease) failed(hook, `was killed because it ran for more than ${tellDuration(timeoutMs)}`, null);
      else failed(hook, code === null ? `was ended by ${signal}` : `exited with code ${code}`, code);
    } catch (error) {
      failed(hook, `cannot be run: ${(error as Error).message}`, null);
    } finally {
      stopListening();
    }
  }
}
