import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { type CancelTimer, type Clock, InvalidRequestError, systemClock } from "@tenure/core";
import type { LeaseTime } from "@tenure/client";
import { machineTimeIn } from "./machine-time.js";
import type { Command, FromGuardian, ToGuardian } from "./messages.js";
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

export interface CommandEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * A command that cannot outlive the lease. Its guardian kills it when the lease is about to end and when this process dies;
 * this process kills it when the guardian dies. What is promised of it: when `ended` settles, nothing of its process
 * group runs.
 */
export class GuardedCommand {
  readonly pid: number;
  readonly ended: Promise<CommandEnd>;
  readonly #guardian: ChildProcess;
  readonly #options: GuardedOptions;
  readonly #clock: Clock;
  #cancelTelling: CancelTimer = () => {};

  /** Resolves when the command runs. */
  static async start(options: GuardedOptions): Promise<GuardedCommand> {
    const { stdio = "inherit" } = options;
    const guardian = fork(new URL("guardian-main.js", import.meta.url), [], {
      stdio: [stdio, stdio, stdio, "ipc"],
      execArgv: [],
    });
    const answer = firstAnswer(guardian);
    send(guardian, { kind: "run", command: options.command, killAt: killAt(options) });
    const first = await answer;
    if (first.kind === "running") return new GuardedCommand(first.pid, guardian, options);
    guardian.disconnect();
    if (first.kind === "cannot-run") {
      throw new InvalidRequestError("command", `${options.command.file} cannot be run: ${first.problem}`);
    }
    throw new Error("the lease ended before the command was started");
  }

  private constructor(pid: number, guardian: ChildProcess, options: GuardedOptions) {
    this.pid = pid;
    this.#guardian = guardian;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.ended = this.#untilEnded();
    this.#tell();
  }

  signal(signal: NodeJS.Signals): void {
    signalGroup(this.pid, signal);
  }

  kill(): void {
    signalGroup(this.pid, "SIGKILL");
  }

  /** Asks it to end; kills it after `graceMs`, or at once where the lease may be over already. */
  async end(signal: NodeJS.Signals, graceMs: number): Promise<CommandEnd> {
    const { lease, killMarginMs } = this.#options;
    if (lease.leftMs() <= killMarginMs) this.kill();
    else this.signal(signal);
    const cancel = this.#clock.after(graceMs, () => this.kill());
    const end = await this.ended;
    cancel();
    return end;
  }

  #tell(): void {
    send(this.#guardian, { kind: "kill-at", killAt: killAt(this.#options) });
    this.#cancelTelling = this.#clock.after(this.#options.tellEveryMs, () => this.#tell());
  }

  async #untilEnded(): Promise<CommandEnd> {
    const end = await new Promise<CommandEnd>((resolve) => {
      this.#guardian.on("message", (message: FromGuardian) => {
        if (message.kind === "ended") resolve(message);
      });
      this.#guardian.once("exit", () => resolve({ code: null, signal: "SIGKILL" }));
    });
    this.#cancelTelling();
    this.kill();
    while (groupRuns(this.pid)) await new Promise<void>((resolve) => void this.#clock.after(2, resolve));
    if (this.#guardian.connected) this.#guardian.disconnect();
    return { code: end.code, signal: end.signal };
  }
}

function killAt({ lease, killMarginMs }: GuardedOptions): ReturnType<typeof machineTimeIn> {
  return machineTimeIn(lease.leftMs() - killMarginMs);
}

async function firstAnswer(guardian: ChildProcess): Promise<FromGuardian> {
  const gone = once(guardian, "exit").then(() => {
    throw new Error("the guardian of the command could not be started");
  });
  gone.catch(() => {});
  const [message] = await Promise.race([once(guardian, "message") as Promise<[FromGuardian]>, gone]);
  return message;
}

function send(guardian: ChildProcess, message: ToGuardian): void {
  if (guardian.connected) guardian.send(message);
}
