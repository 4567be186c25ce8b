/** What `tenure run` and `tenure elect` have in common: the election, and everything that reports about it. */
import { Election } from "@tenure/client";
import { onAbort } from "@tenure/core/internal";
import type { Connection, Target } from "../frame/connection.js";
import type { ExitCode, Shell } from "../frame/shell.js";
import { healthCommand } from "./health-command.js";
import { tellRefusal } from "../frame/tell-error.js";
import { RunMetrics, type WorkGauge } from "./run-metrics.js";
import type { ElectionFlags } from "./election-options.js";
import { RunOutput } from "./run-output.js";
import { RunTeller } from "./run-teller.js";
import { StatusEndpoint } from "./status-endpoint.js";
import { SystemdNotifier } from "./systemd-notifier.js";

export interface LedProcessOptions {
  readonly groupId: string;
  readonly flags: ElectionFlags;
  /** `--once`: nothing is waited for. */
  readonly once: boolean;
  readonly gauge: WorkGauge;
}

/** How it ended, for the last report. */
export interface LedEnd {
  readonly exitCode: ExitCode;
  readonly message: string;
}

export class LedProcess {
  readonly election: Election;
  readonly output: RunOutput;
  readonly metrics: RunMetrics;
  readonly teller: RunTeller;
  readonly #shell: Shell;
  readonly #options: LedProcessOptions;

  constructor(shell: Shell, { elector, target }: Connection, options: LedProcessOptions) {
    const { groupId, flags, once, gauge } = options;
    const { nodeId, ttl: ttlMs, priority, healthCmd } = flags;
    // Three quarters of a heartbeat, because a renewal waits for the check.
    const healthTimeoutMs = Math.max(1, Math.floor(Math.floor(ttlMs / 5) * 0.75));
    this.#shell = shell;
    this.#options = options;
    this.election = new Election(elector, {
      groupId,
      nodeId,
      ttlMs,
      priority,
      healthTimeoutMs,
      // Time to end the work before the lease does.
      stopMarginMs: Math.ceil(ttlMs / 5),
      healthChecker: healthCmd === undefined ? undefined : healthCommand(healthCmd),
      clock: shell.clock,
    });
    this.metrics = new RunMetrics(groupId, nodeId, gauge);
    this.output = new RunOutput(shell, groupId, nodeId);
    this.output.add((report) => this.metrics.notice(report));
    this.teller = new RunTeller({
      elector,
      groupId,
      nodeId,
      ttlMs,
      healthTimeoutMs,
      target: nameOf(target),
      once,
      lease: { leftMs: () => this.election.status().leftMs },
      clock: shell.clock,
      report: this.output.report,
    });
  }

  /** Serves, notifies and reports while `work` campaigns and leads. Never rejects: an error is reported. */
  async run(work: (signal: AbortSignal) => Promise<LedEnd>): Promise<ExitCode> {
    const { env, clock, signal } = this.#shell;
    const { http } = this.#options.flags;
    const { report } = this.output;
    const endpoint = http === undefined ? null : await StatusEndpoint.open(this.election, this.metrics, http);
    const systemd = SystemdNotifier.of({ env, clock, report });
    if (systemd !== null) this.output.add((each) => systemd.notice(each));
    const stopListening = onAbort(signal, () => systemd?.stopping());
    systemd?.start();
    try {
      const { exitCode, message } = await work(signal);
      const fields = { exit_code: exitCode };
      report({ event: "ended", message: `${message}; exit code ${exitCode}`, fields });
      return exitCode;
    } catch (error) {
      return this.#failed(error);
    } finally {
      stopListening();
      systemd?.stopping();
      this.teller.close();
      await this.output.flushed();
      await systemd?.close();
      await endpoint?.close();
    }
  }

  /** The same sentence and exit code as for other commands; in JSON with the name of the event. */
  #failed(error: unknown): ExitCode {
    const { groupId, flags } = this.#options;
    const { code, message, exitCode } = tellRefusal(error, { groupId, ttlMs: flags.ttl });
    const fields = { ok: false, error: code, exit_code: exitCode };
    this.output.report({ event: "failed", message, fields });
    return exitCode;
  }
}

/** As the user has named it; a store's URL may contain a password. */
function nameOf(target: Target): string {
  return target.kind === "server" ? target.endpoints.join(", ") : "the store";
}
