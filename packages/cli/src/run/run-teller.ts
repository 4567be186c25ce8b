import { constants } from "node:os";
import type { DemoteReason, ElectionEvent, LeaseTime, Mandate } from "@tenure/client";
import type { CommandEnd } from "@tenure/coordinator";
import { BackendUnavailableError, type Clock, type ElectorAdmin } from "@tenure/core";
import { tellDuration } from "../frame/duration.js";
import { HealthCommandError } from "./health-command.js";
import type { LedCommandTeller } from "./led-command.js";
import type { HookOption } from "./leadership-hooks.js";
import { tellRefusal } from "../frame/tell-error.js";
import type { Report, RunReport } from "./run-report.js";
import { StandingTeller } from "./standing-teller.js";

const ENDS: Readonly<Record<DemoteReason, string>> = {
  stopped: "tenure run was stopped",
  finished: "command exited",
  resigned: "resigned",
  lapsed: "lease expired before a renewal succeeded",
  "not-leader": "another node leads, or the leader was asked to step down",
  transferred: "handed over to a successor",
  unhealthy: "health command failed",
  disconnected: "no response",
  "heartbeat-failed": "renewals failed",
  refused: "renewal refused",
  "token-invalid": "another node leads",
  "promote-failed": "command could not be started",
  "heart-failed": "lease can no longer be renewed",
};

export interface RunTellerOptions {
  readonly elector: ElectorAdmin;
  readonly groupId: string;
  readonly nodeId: string;
  readonly ttlMs: number;
  readonly healthTimeoutMs: number;
  /** The servers or the store, as the user knows them. */
  readonly target: string;
  /** `--once`: nothing is waited for; the end says who leads. */
  readonly once: boolean;
  readonly lease: LeaseTime;
  readonly clock: Clock;
  readonly report: Report;
}

/** What `tenure run` reports beside the output of its command. Each state is reported when it begins, and not again while it lasts. */
export class RunTeller implements LedCommandTeller {
  readonly #options: RunTellerOptions;
  readonly #standing: StandingTeller;
  /** Refusals that were reported since the last accepted campaign. */
  readonly #refusals = new Set<string>();
  #isAccepted = false;
  #lostAtMs: number | null = null;
  #isLeading = false;

  constructor(options: RunTellerOptions) {
    const { once, report } = options;
    this.#options = options;
    this.#standing = new StandingTeller({ ...options, report: once ? () => {} : report });
  }

  notice(event: ElectionEvent): void {
    switch (event.kind) {
      case "campaign-lost":
        this.#accepted();
        return this.#standing.lost(event);
      case "promoted":
        this.#accepted();
        return this.#standing.elected();
      case "leader-changed":
        return this.#isLeading ? undefined : this.#standing.changed(event.leader);
      case "connection":
        return event.status === "connected" ? this.#connected() : undefined;
      case "request-failed":
        return this.#failed(event);
      case "health":
        return this.#health(event.healthy, event.error);
      case "stopped":
        return this.#standing.stopped();
      default:
        return undefined;
    }
  }

  elected({ groupId, nodeId, term }: Mandate): void {
    this.#isLeading = true;
    this.#report("elected", `${nodeId} leads ${groupId} in term ${term}`, { is_leader: true, term });
  }

  lost({ groupId, nodeId, term }: Mandate, reason: DemoteReason, error: unknown): void {
    this.#isLeading = false;
    // The user who stopped `tenure run`, or whose command has exited, knows already.
    if (reason === "stopped" || reason === "finished") return;
    const refusal = error === undefined ? null : tellRefusal(error, this.#options);
    const why = refusal === null ? ENDS[reason] : `${ENDS[reason]}: ${refusal.message}`;
    this.#report("lost", `${nodeId} no longer leads ${groupId}, term ${term}: ${why}`, {
      is_leader: false,
      term,
      reason,
      ...(refusal === null ? {} : { error: refusal.code }),
    });
  }

  stopping(signal: NodeJS.Signals, killInMs: number): void {
    const message = `sent ${signal} to the command; waiting up to ${tellDuration(killInMs)}`;
    this.#report("stopping", message, { signal, kill_in_ms: Math.round(killInMs) });
  }

  killing(because: "grace" | "lease"): void {
    const why =
      because === "grace" ? "the command did not exit in time" : "the lease is over or about to end";
    this.#report("killing", `${why}; sent SIGKILL`, { signal: "SIGKILL", because });
  }

  exited(end: CommandEnd, restartInMs: number | null): void {
    const { code, signal, byLease } = end;
    const how = signal === null ? `exited with code ${code}` : `was ended by ${signal}`;
    const why = byLease ? " because the lease was about to end" : "";
    const next = restartInMs === null ? "" : `; starting it again in ${tellDuration(restartInMs)}`;
    this.#report("exited", `the command ${how}${why}${next}`, {
      code,
      signal,
      exit_code: exitCodeOf(end),
      by_lease: byLease,
      restart_in_ms: restartInMs,
    });
  }

  hookFailed(hook: HookOption, problem: string, exitCode: number | null): void {
    this.#report("hook_failed", `${hook} ${problem}`, { hook: hook.slice(2), exit_code: exitCode });
  }

  /** Why this node does not lead, as far as is known. */
  async standing(): Promise<string | null> {
    return this.#standing.text();
  }

  close(): void {
    this.#standing.close();
  }

  #accepted(): void {
    this.#isAccepted = true;
    this.#refusals.clear();
  }

  #failed({
    request,
    error,
    permanent,
    retryInMs,
  }: Extract<ElectionEvent, { kind: "request-failed" }>): void {
    if (error instanceof BackendUnavailableError) return this.#disconnected(error);
    // The end of the leadership says why a renewal was refused.
    if (request === "renew") return;
    // A watch that is refused with the first campaign is refused for the same reason.
    if (request !== "campaign" && !(permanent && this.#isAccepted)) return;
    const { code, message } = tellRefusal(error, this.#options);
    if (this.#refusals.has(message)) return;
    this.#refusals.add(message);
    const again = retryInMs === null ? "" : `; trying again in ${tellDuration(retryInMs)}`;
    this.#report("refused", `refused: ${message}${again}`, {
      request,
      error: code,
      permanent,
      retry_in_ms: retryInMs === null ? null : Math.round(retryInMs),
    });
  }

  #connected(): void {
    if (this.#lostAtMs === null) return;
    const lostForMs = this.#options.clock.monotonicMs() - this.#lostAtMs;
    this.#lostAtMs = null;
    const message = `connection restored after ${tellDuration(lostForMs)}`;
    this.#report("connection_restored", message, { lost_for_ms: Math.round(lostForMs) });
  }

  #disconnected(error: BackendUnavailableError): void {
    const { clock, lease, once } = this.#options;
    // With `--once`, a first campaign that is not answered ends `tenure run`.
    if (this.#lostAtMs !== null || (once && !this.#isAccepted)) return;
    this.#lostAtMs = clock.monotonicMs();
    const leftMs = lease.leftMs();
    const left = leftMs > 0 ? `; the lease lasts another ${tellDuration(leftMs)}` : "";
    this.#report("connection_lost", `connection lost: ${this.#whoFailed(error)}; retrying${left}`, {
      target: this.#options.target,
      lease_left_ms: Math.round(leftMs),
    });
  }

  /** What each server did, or the target with the error. */
  #whoFailed({ cause, message }: BackendUnavailableError): string {
    return cause instanceof AggregateError ? cause.message : `${this.#options.target}: ${message}`;
  }

  #health(healthy: boolean, error: unknown): void {
    if (healthy) return this.#report("health_restored", "health command succeeded; campaigning again", {});
    const late = new HealthCommandError(`no exit within ${tellDuration(this.#options.healthTimeoutMs)}`);
    const { exitCode, lastLine, message } = error instanceof HealthCommandError ? error : late;
    const next = this.#isLeading ? "giving up the leadership" : "not campaigning until it succeeds";
    this.#report("health_failed", `health command failed: ${message}; ${next}`, {
      exit_code: exitCode,
      last_line: lastLine,
    });
  }

  #report(event: RunReport["event"], message: string, fields: RunReport["fields"]): void {
    this.#options.report({ event, message, fields });
  }
}

/** The exit code of a command, as a shell reports it. */
export function exitCodeOf({ code, signal }: CommandEnd): number {
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}
