/** `tenure run`: a command in any language that runs only while this node leads. */
import { rm, writeFile } from "node:fs/promises";
import { Election } from "@tenure/client";
import { InvalidRequestError } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";
import type { Command } from "commander";
import { EXIT, type ExitCode, type Shell } from "../frame/shell.js";
import type { Connection, Target } from "../frame/connection.js";
import { electorCommand, withExamples } from "../frame/elector-command.js";
import { healthCommand } from "./health-command.js";
import { LeadershipHooks } from "./leadership-hooks.js";
import { LedCommand, type RunEnd } from "./led-command.js";
import { tellRefusal } from "../frame/tell-error.js";
import { RunMetrics } from "./run-metrics.js";
import { readRunFlags, type RunFlags, withRunOptions } from "./run-options.js";
import { RunOutput } from "./run-output.js";
import { exitCodeOf, RunTeller } from "./run-teller.js";
import { StatusEndpoint } from "./status-endpoint.js";
import { SystemdNotifier, withoutSystemd } from "./systemd-notifier.js";

export function runCommand(shell: Shell): Command {
  const command = withRunOptions(
    electorCommand(shell, "run", "Run a command only while this node leads a group")
      .argument("<group>")
      .argument(
        "<command...>",
        "command to run, after --; its environment has TENURE_TERM, TENURE_GROUP and TENURE_TOKEN",
      ),
  );
  command.action((groupId: string, words: string[], given: RunFlags) => {
    const flags = readRunFlags(command, given, shell.env);
    return shell.connected(flags, (connection) => new Run(shell, connection, groupId, flags).run(words));
  });
  return withExamples(
    command,
    "tenure run billing -- ./billing-worker --verbose",
    "tenure run nightly --restart --health-cmd 'pg_isready -q' -- python3 scheduler.py",
    "tenure run sidecar --http :4040 -- sleep infinity",
  );
}

/** One `tenure run`: its election, its command and everything that reports about them. */
class Run {
  readonly #shell: Shell;
  readonly #groupId: string;
  readonly #flags: RunFlags;
  readonly #election: Election;
  readonly #output: RunOutput;
  readonly #metrics: RunMetrics;
  readonly #teller: RunTeller;

  constructor(shell: Shell, { elector, target }: Connection, groupId: string, flags: RunFlags) {
    const { nodeId, ttl: ttlMs, priority, healthCmd } = flags;
    // Three quarters of a heartbeat, because a renewal waits for the check.
    const healthTimeoutMs = Math.max(1, Math.floor(Math.floor(ttlMs / 5) * 0.75));
    this.#shell = shell;
    this.#groupId = groupId;
    this.#flags = flags;
    this.#election = new Election(elector, {
      groupId,
      nodeId,
      ttlMs,
      priority,
      healthTimeoutMs,
      // Time to handle the signal before the command is killed.
      stopMarginMs: Math.ceil(ttlMs / 5),
      healthChecker: healthCmd === undefined ? undefined : healthCommand(healthCmd),
      clock: shell.clock,
    });
    this.#metrics = new RunMetrics(groupId, nodeId);
    this.#output = new RunOutput(shell, groupId, nodeId);
    this.#output.add((report) => this.#metrics.notice(report));
    this.#teller = new RunTeller({
      elector,
      groupId,
      nodeId,
      ttlMs,
      healthTimeoutMs,
      target: nameOf(target),
      once: flags.once === true,
      lease: { leftMs: () => this.#election.status().leftMs },
      clock: shell.clock,
      report: this.#output.report,
    });
  }

  async run(words: readonly string[]): Promise<ExitCode> {
    const { env, clock, signal } = this.#shell;
    const { http } = this.#flags;
    const { report } = this.#output;
    const endpoint =
      http === undefined ? null : await StatusEndpoint.open(this.#election, this.#metrics, http);
    const systemd = SystemdNotifier.of({ env, clock, report });
    if (systemd !== null) this.#output.add((each) => systemd.notice(each));
    const stopListening = onAbort(signal, () => systemd?.stopping());
    systemd?.start();
    try {
      return await this.#ended(await this.#command(words).run(signal));
    } catch (error) {
      return this.#failed(error);
    } finally {
      stopListening();
      systemd?.stopping();
      this.#teller.close();
      await this.#output.flushed();
      await systemd?.close();
      await endpoint?.close();
    }
  }

  #command([file = "", ...args]: readonly string[]): LedCommand {
    const { ttl: ttlMs, restart, once, afterLoss, stopSignal, grace, readyFile, onWin, onLose } = this.#flags;
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
      failed: (hook, problem, exitCode) => this.#teller.hookFailed(hook, problem, exitCode),
    });
    return new LedCommand({
      election: this.#election,
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
        this.#metrics.running(true);
        if (readyFile !== undefined) await writeReady(readyFile, term);
      },
      ended: async () => {
        this.#metrics.running(false);
        if (readyFile !== undefined) await rm(readyFile, { force: true });
      },
      teller: this.#teller,
    });
  }

  /** The exit code of the command, as a shell reports it; 3 if this node does not lead. */
  async #ended(ended: RunEnd): Promise<ExitCode> {
    const standing = ended.kind === "lost" ? await this.#teller.standing() : null;
    const why = standing === null ? "" : `: ${standing}`;
    const [exitCode, message] = {
      ended: () => [exitCodeOf((ended as RunEnd & { kind: "ended" }).end), "tenure run ended"] as const,
      lost: () => [EXIT.notLeader, `this node does not lead ${this.#groupId}${why}`] as const,
      stopped: () => [EXIT.done, "tenure run was stopped"] as const,
    }[ended.kind]();
    this.#output.report({
      event: "ended",
      message: `${message}; exit code ${exitCode}`,
      fields: { exit_code: exitCode },
    });
    return exitCode;
  }

  /** The same sentence and exit code as for other commands; in JSON with the name of the event. */
  #failed(error: unknown): ExitCode {
    const { code, message, exitCode } = tellRefusal(error, {
      groupId: this.#groupId,
      ttlMs: this.#flags.ttl,
    });
    this.#output.report({
      event: "failed",
      message,
      fields: { ok: false, error: code, exit_code: exitCode },
    });
    return exitCode;
  }
}

/** As the user has named it; a store's URL may contain a password. */
function nameOf(target: Target): string {
  return target.kind === "server" ? target.endpoints.join(", ") : "the store";
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
