import { type ChildProcess, fork } from "node:child_process";
import type { LeaseTime } from "@tenure/client";
import { type CancelTimer, type Clock, InvalidRequestError, sleep, systemClock } from "@tenure/core";
import { machineTimeIn } from "./machine-time.js";
import type { Command, CommandEnd, FromGuardian, KillTime, ToGuardian } from "./messages.js";
import { groupRuns, signalGroup } from "./process-group.js";

export interface GuardedOptions {
  readonly command: Command;
  readonly lease: LeaseTime;
  /** The command is killed so long before the lease ends. */
  readonly killMarginMs: number;
  /** How often the guardian hears how much is left. */
  readonly tellEveryMs: number;
  readonly stdio?: "inherit" | "ignore";
  readonly clock?: Clock;
}

const GONE_POLL_MS = 2;
/** So long a guardian may take to tell of the end of what was killed. */
const GUARDIAN_MS = 1000;

/**
 * A command that cannot outlive the lease. Its guardian kills it when the lease is about to end and when this process dies;
 * this process kills it when the guardian dies. Promised: when `ended` settles, nothing of its process group runs.
 */
export class GuardedCommand {
  /** Rejects if the command cannot be run at all. */
  readonly ended: Promise<CommandEnd>;
  readonly #guardian: ChildProcess;
  readonly #options: GuardedOptions;
  readonly #clock: Clock;
  #groupId: number | null = null;
  #cancelTelling: CancelTimer = () => {};

  constructor(options: GuardedOptions) {
    const { stdio = "inherit", clock = systemClock } = options;
    this.#options = options;
    this.#clock = clock;
    this.#guardian = fork(new URL("guardian-main.js", import.meta.url), [], {
      stdio: [stdio, stdio, stdio, "ipc"],
      execArgv: [],
    });
    this.ended = this.#untilEnded();
    this.#send({ kind: "run", command: options.command, killAt: this.#killAt() });
    this.#tell();
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#groupId !== null) signalGroup(this.#groupId, signal);
    else this.#send({ kind: "signal", signal });
  }

  kill(): void {
    this.signal("SIGKILL");
  }

  /** Asks it to end; kills it after `graceMs`, and in any case when the lease is about to end. */
  async end(signal: NodeJS.Signals, graceMs: number): Promise<CommandEnd> {
    const { lease, killMarginMs, tellEveryMs } = this.#options;
    const untilMs = this.#clock.monotonicMs() + graceMs;
    let cancel: CancelTimer = () => {};
    // The guardian minds the lease by itself; but it may stand still.
    const mind = (): void => {
      const leftMs = Math.min(untilMs - this.#clock.monotonicMs(), lease.leftMs() - killMarginMs);
      if (leftMs > 0) {
        cancel = this.#clock.after(Math.min(leftMs, tellEveryMs), mind);
        return;
      }
      this.kill();
      // One that does not say what became of the command is of no use any more; its end says as much.
      cancel = this.#clock.after(GUARDIAN_MS, () => this.#guardian.kill("SIGKILL"));
    };
    if (lease.leftMs() > killMarginMs) this.signal(signal);
    mind();
    try {
      return await this.ended;
    } finally {
      cancel();
    }
  }

  #tell(): void {
    this.#send({ kind: "kill-at", killAt: this.#killAt() });
    this.#cancelTelling = this.#clock.after(this.#options.tellEveryMs, () => this.#tell());
  }

  #killAt(): KillTime {
    const { lease, killMarginMs } = this.#options;
    return machineTimeIn(lease.leftMs() - killMarginMs);
  }

  async #untilEnded(): Promise<CommandEnd> {
    try {
      return await this.#hear();
    } finally {
      this.#cancelTelling();
      this.kill();
      while (this.#groupId !== null && groupRuns(this.#groupId)) await sleep(this.#clock, GONE_POLL_MS);
      if (this.#guardian.connected) this.#guardian.disconnect();
    }
  }

  #hear(): Promise<CommandEnd> {
    const { file } = this.#options.command;
    return new Promise((resolve, reject) => {
      this.#guardian.on("message", (message: FromGuardian) => {
        if (message.kind === "running") this.#groupId = message.pid;
        else if (message.kind === "ended") resolve(message);
        else reject(new InvalidRequestError("command", `${file} cannot be run: ${message.problem}`));
      });
      this.#guardian.on("error", reject);
      this.#guardian.on("exit", () => resolve({ code: null, signal: "SIGKILL", byLease: true }));
    });
  }

  #send(message: ToGuardian): void {
    if (this.#guardian.connected) this.#guardian.send(message);
  }
}
