import { type ChildProcess, fork } from "node:child_process";
import type { LeaseTime } from "@tenure/client";
import { type CancelTimer, type Clock, InvalidRequestError, sleep, systemClock } from "@tenure/core";
import { machineTimeIn } from "./machine-time.js";
import type { Command, CommandEnd, FromGuardian, KillTime, ToGuardian } from "./messages.js";
import { groupRuns, signalGroup } from "./process-group.js";

export interface GuardedOptions {
  readonly command: Command;
  readonly lease: LeaseTime;
  /** How long before the end of the lease the command is killed, in milliseconds. */
  readonly killMarginMs: number;
  /** How often the guardian is sent the remaining time, in milliseconds. */
  readonly tellEveryMs: number;
  /** The standard streams of the command: those of this process, or none. @defaultValue `"inherit"` */
  readonly stdio?: "inherit" | "ignore";
  /** The source of time, for tests. @defaultValue `systemClock` */
  readonly clock?: Clock;
}

const GONE_POLL_MS = 2;

/**
 * A command that cannot outlive the lease. Its guardian kills it when the lease is about to end and when this process
 * dies; this process kills it when the guardian dies. Promised: when `ended` settles, nothing of its process group
 * runs.
 *
 * The guardian leads that group and starts the command in it. So from the first moment this process can kill everything
 * in the group, even if the guardian is suspended or has not reported yet that the command runs.
 */
export class GuardedCommand {
  /** Rejects if the command cannot be run at all. */
  readonly ended: Promise<CommandEnd>;
  readonly #guardian: ChildProcess;
  readonly #options: GuardedOptions;
  readonly #clock: Clock;
  #isRunning = false;
  #isGone = false;
  #cancelTelling: CancelTimer = () => {};

  constructor(options: GuardedOptions) {
    const { stdio = "inherit", clock = systemClock } = options;
    this.#options = options;
    this.#clock = clock;
    this.#guardian = fork(new URL("guardian-main.js", import.meta.url), [], {
      stdio: [stdio, stdio, stdio, "ipc"],
      execArgv: [],
      detached: true,
    });
    this.ended = this.#untilEnded();
    this.#send({ kind: "run", command: options.command, killAt: this.#killAt() });
    this.#tell();
  }

  signal(signal: NodeJS.Signals): void {
    // A signal that the command should handle waits until the command runs.
    if (this.#isRunning || signal === "SIGKILL") this.#signalGroup(signal);
    else this.#send({ kind: "signal", signal });
  }

  kill(): void {
    this.signal("SIGKILL");
  }

  /**
   * Asks it to end; kills it after `graceMs`, and in any case when the lease is about to end. `killed` is called after this process has
   * killed it, and not if the guardian did.
   */
  async end(
    signal: NodeJS.Signals,
    graceMs: number,
    killed: (because: "grace" | "lease") => void = () => {},
  ): Promise<CommandEnd> {
    const { tellEveryMs } = this.#options;
    const untilMs = this.#clock.monotonicMs() + graceMs;
    let cancel: CancelTimer = () => {};
    // The guardian watches the lease by itself, but it may be suspended.
    const mind = (): void => {
      const leaseMs = this.#leftMs();
      const leftMs = Math.min(untilMs - this.#clock.monotonicMs(), leaseMs);
      if (leftMs > 0) {
        cancel = this.#clock.after(Math.min(leftMs, tellEveryMs), mind);
        return;
      }
      this.kill();
      killed(leaseMs <= 0 ? "lease" : "grace");
    };
    if (this.#leftMs() > 0) this.signal(signal);
    mind();
    try {
      return await this.ended;
    } finally {
      cancel();
    }
  }

  /** Time until it must be dead. */
  #leftMs(): number {
    const { lease, killMarginMs } = this.#options;
    return lease.leftMs() - killMarginMs;
  }

  #killAt(): KillTime {
    return machineTimeIn(this.#leftMs());
  }

  #tell(): void {
    this.#send({ kind: "kill-at", killAt: this.#killAt() });
    this.#cancelTelling = this.#clock.after(this.#options.tellEveryMs, () => this.#tell());
  }

  async #untilEnded(): Promise<CommandEnd> {
    try {
      return await this.#hear();
    } finally {
      this.#cancelTelling();
      // Processes that the command has started and left behind must not outlive it.
      this.kill();
      const { pid } = this.#guardian;
      while (pid !== undefined && groupRuns(pid)) await sleep(this.#clock, GONE_POLL_MS);
      this.#isGone = true;
    }
  }

  #hear(): Promise<CommandEnd> {
    const { file } = this.#options.command;
    return new Promise((resolve, reject) => {
      this.#guardian.on("message", (message: FromGuardian) => {
        if (message.kind === "running") this.#isRunning = true;
        else if (message.kind === "ended") resolve(message.end);
        else reject(new InvalidRequestError("command", `${file} cannot be run: ${message.problem}`));
      });
      this.#guardian.on("error", reject);
      // "disconnect" comes after the last message, unlike "exit". Without a last message the guardian was killed, and
      // all of its group will be.
      this.#guardian.on("disconnect", () =>
        resolve({ code: null, signal: "SIGKILL", byLease: this.#leftMs() <= 0 }),
      );
    });
  }

  #signalGroup(signal: NodeJS.Signals): void {
    const { pid } = this.#guardian;
    // Another process may have this process id by then.
    if (pid !== undefined && !this.#isGone) signalGroup(pid, signal);
  }

  #send(message: ToGuardian): void {
    if (this.#guardian.connected) this.#guardian.send(message, () => {});
  }
}
