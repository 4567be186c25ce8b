import { rm, writeFile } from "node:fs/promises";
import { InvalidRequestError } from "@tenure/core";
import type { Connection } from "../frame/connection.js";
import { EXIT, type ExitCode, type Shell } from "../frame/shell.js";
import { LeadershipHooks } from "./leadership-hooks.js";
import { LedCommand, type RunEnd } from "./led-command.js";
import { type LedEnd, LedProcess } from "./led-process.js";
import type { RunFlags } from "./run-options.js";
import { exitCodeOf } from "./run-teller.js";
import { withoutSystemd } from "./systemd-notifier.js";

/** One `tenure run`: its command, and how it ends. */
export class Run {
  readonly #shell: Shell;
  readonly #groupId: string;
  readonly #flags: RunFlags;
  readonly #process: LedProcess;

  constructor(shell: Shell, connection: Connection, groupId: string, flags: RunFlags) {
    this.#shell = shell;
    this.#groupId = groupId;
    this.#flags = flags;
    const gauge = { name: "command_running", help: "Whether the command runs." };
    this.#process = new LedProcess(shell, connection, { groupId, flags, once: flags.once === true, gauge });
  }

  run(words: readonly string[]): Promise<ExitCode> {
    return this.#process.run(async (signal) => this.#ended(await this.#command(words).run(signal)));
  }

  #command([file = "", ...args]: readonly string[]): LedCommand {
    const { ttl: ttlMs, restart, once, afterLoss, stopSignal, grace, readyFile, onWin, onLose } = this.#flags;
    const { election, metrics, teller } = this.#process;
    const { clock } = this.#shell;
    const env = withoutSystemd(this.#shell.env);
    const killMarginMs = Math.ceil(ttlMs / 20);
    const tellEveryMs = Math.ceil(ttlMs / 20);
    const hooks = new LeadershipHooks({
      onWin,
      onLose,
      timeoutMs: this.#flags.hookTimeout,
      env,
      killMarginMs,
      tellEveryMs,
      clock,
      failed: (hook, problem, exitCode) => teller.hookFailed(hook, problem, exitCode),
    });
    return new LedCommand({
      election,
      file,
      args,
      env,
      restart: restart === true,
      once: once === true,
      exitWhenLost: afterLoss === "exit",
      stopSignal,
      graceMs: grace,
      killMarginMs,
      tellEveryMs,
      restartDelayMs: 1000,
      clock,
      hooks,
      running: async ({ term }) => {
        metrics.working(true);
        if (readyFile !== undefined) await writeReady(readyFile, term);
      },
      ended: async () => {
        metrics.working(false);
        if (readyFile !== undefined) await rm(readyFile, { force: true });
      },
      teller,
    });
  }

  /** The exit code of the command, as a shell reports it; 3 if this node does not lead. */
  async #ended(ended: RunEnd): Promise<LedEnd> {
    switch (ended.kind) {
      case "ended":
        return { exitCode: exitCodeOf(ended.end), message: "tenure run ended" };
      case "stopped":
        return { exitCode: EXIT.done, message: "tenure run was stopped" };
      case "lost": {
        const standing = await this.#process.teller.standing();
        const why = standing === null ? "" : `: ${standing}`;
        return { exitCode: EXIT.notLeader, message: `this node does not lead ${this.#groupId}${why}` };
      }
    }
  }
}

async function writeReady(path: string, term: number): Promise<void> {
  try {
    await writeFile(path, `${term}\n`);
  } catch (cause) {
    throw new InvalidRequestError("--ready-file", `cannot be written: ${(cause as Error).message}`, {
      cause,
    });
  }
}
