import type { CampaignResult } from "@tenure/core";
import type { Broadcast } from "./broadcast.js";
import { FailureLog } from "./failure-log.js";
import type { ParsedElection } from "./options.js";
import { codeOf, isPermanent, messageOf } from "./retry.js";
import type {
  ConnectionStatus,
  DemoteReason,
  ElectionEvent,
  ElectionRequest,
  ElectionState,
  HookName,
  KnownLeader,
  Mandate,
} from "./state.js";
import type { ElectionLabels, ElectionMetrics, Logger, Span, TelemetryPart } from "./telemetry.js";
import { UserCode } from "./user-code.js";

/** The process decided to stop, or was asked to. Every other end of a leadership is logged as a warning. */
const ORDERLY: ReadonlySet<DemoteReason> = new Set(["stopped", "finished", "resigned", "transferred"]);

/**
 * Writes the events, log lines, metrics and traces of one election, and keeps the state that only they need. No method
 * throws or runs the user's code before it returns, so each may be called at any time.
 */
export class Reporter {
  readonly #options: ParsedElection;
  readonly #events: Broadcast<ElectionEvent>;
  readonly #labels: ElectionLabels;
  readonly #code: UserCode<TelemetryPart>;
  readonly #failures: FailureLog;
  #correlationId: string | null = null;
  #mandate: Mandate | null = null;
  #promotedAtMs = 0;
  #span: DeferredSpan | null = null;
  #connection: ConnectionStatus = "unknown";

  constructor(options: ParsedElection, events: Broadcast<ElectionEvent>) {
    this.#options = options;
    this.#events = events;
    this.#labels = { group: options.groupId, node: options.nodeId };
    this.#failures = new FailureLog(options.clock);
    this.#code = new UserCode((part, error) => {
      if (part !== "logger") this.#log("error", { part, err: error }, `${part} failed: ${messageOf(error)}`);
      this.#events.emit({ kind: "telemetry-failed", part, error });
    });
  }

  get connection(): ConnectionStatus {
    return this.#connection;
  }

  get correlationId(): string | null {
    return this.#correlationId;
  }

  /** A run of the election begins, so readers get events again. */
  begin(): void {
    this.#events.begin();
  }

  moved(from: ElectionState, to: ElectionState): void {
    this.#measure((metrics) => metrics.transition(this.#labels, from.kind, to.kind));
    this.#measure((metrics) => metrics.isLeader(this.#labels, to.kind === "leading"));
    this.#log("debug", { from: from.kind, to: to.kind }, "election state changed");
  }

  /** A request was answered. */
  answered(): void {
    this.#failures.clear();
    this.#connected("connected");
  }

  /** A request was refused, or not answered. */
  requestFailed(request: ElectionRequest, error: unknown, retryInMs: number | null = null): void {
    const permanent = isPermanent(error);
    this.#logFailure(error);
    this.#events.emit({ kind: "request-failed", request, error, permanent, retryInMs });
    this.#connected(permanent ? "connected" : "disconnected");
  }

  campaignLost(lost: CampaignResult & { kind: "lost" }): void {
    const { leader, heldBack, heldBackForMs } = lost;
    this.#events.emit({
      kind: "campaign-lost",
      leader: leader === null ? null : { nodeId: leader.nodeId, term: leader.term },
      ...(heldBack === undefined ? {} : { heldBack }),
      ...(heldBackForMs === undefined ? {} : { heldBackForMs }),
    });
  }

  campaignSpan(): (outcome: "elected" | "lost" | "failed") => void {
    const span = this.#startSpan("tenure.campaign", this.#attributes());
    return (outcome) => {
      this.#measure((metrics) => metrics.acquireAttempt(this.#labels, outcome));
      span.end("tenure.outcome", outcome);
    };
  }

  promoted(mandate: Mandate, correlationId: string): void {
    this.#mandate = mandate;
    this.#correlationId = correlationId;
    this.#promotedAtMs = this.#options.clock.monotonicMs();
    this.#span = this.#startSpan("tenure.leadership", {
      ...this.#attributes(),
      "tenure.term": mandate.term,
    });
    this.#log("info", {}, "became leader");
    this.#events.emit({ kind: "promoted", mandate });
  }

  /** `error`: the failed renewal that ended the leadership, if one did. */
  demoting(mandate: Mandate, reason: DemoteReason, error: unknown): void {
    const seconds = (this.#options.clock.monotonicMs() - this.#promotedAtMs) / 1000;
    this.#measure((metrics) => metrics.leaderDuration(this.#labels, seconds));
    const level = ORDERLY.has(reason) ? "info" : "warn";
    const why = error === undefined ? {} : { error };
    const fields = { reason, ...(error === undefined ? {} : { err: error }) };
    this.#log(level, fields, "no longer leads; the work was asked to end");
    this.#span?.act((span) => span.addEvent("demoting", { "tenure.reason": reason }));
    this.#events.emit({ kind: "demoting", mandate, reason, ...why });
  }

  /** The work still runs, `overdueMs` after its signal. */
  workOverdue(mandate: Mandate, reason: DemoteReason, overdueMs: number, leaseLeftMs: number): void {
    this.#measure((metrics) => metrics.workOverdue(this.#labels, overdueMs / 1000));
    const lease = leaseLeftMs > 0 ? "its lease still runs" : "another node may lead meanwhile";
    this.#log("warn", { reason, overdueMs, leaseLeftMs }, `work ignores its signal; ${lease}`);
    this.#events.emit({ kind: "work-overdue", mandate, reason, overdueMs, leaseLeftMs });
  }

  /** Work that was overdue has ended. */
  workEnded(): void {
    this.#measure((metrics) => metrics.workOverdue(this.#labels, 0));
  }

  demoted(mandate: Mandate, reason: DemoteReason, error: unknown): void {
    this.#log("info", { reason }, "work finished");
    this.#events.emit({ kind: "demoted", mandate, reason, ...(error === undefined ? {} : { error }) });
    this.#span?.end("tenure.reason", reason);
    this.#span = null;
    this.#mandate = null;
    this.#correlationId = null;
  }

  leaderChanged(leader: KnownLeader, previousId: string | null): void {
    const { nodeId, term } = leader;
    // This process's own promotion is logged separately.
    const level = nodeId === this.#options.nodeId ? "debug" : "info";
    const message = nodeId === null ? "group has no leader" : "leader changed";
    this.#log(level, { leader: nodeId, previous: previousId, leaderTerm: term }, message);
    this.#events.emit({ kind: "leader-changed", leader, previousId });
  }

  danger(leftMs: number): void {
    const mandate = this.#mandate;
    if (mandate === null) return;
    this.#log("warn", { leftMs }, "no renewal for half the ttl");
    this.#span?.act((span) => span.addEvent("danger", { "tenure.left_ms": leftMs }));
    this.#events.emit({ kind: "danger", mandate, leftMs });
  }

  heartbeat(outcome: "renewed" | "failed", seconds: number): void {
    this.#measure((metrics) => metrics.heartbeat(this.#labels, outcome, seconds));
  }

  tokenInvalid(): void {
    this.#measure((metrics) => metrics.tokenValidationFailure(this.#labels));
    this.#log("warn", {}, "the store shows another leader or term");
  }

  /** `error`: what the last failed check threw, if it threw. */
  health(healthy: boolean, error: unknown): void {
    const why = error === undefined ? {} : { err: error };
    const cause = error === undefined ? "" : `: ${messageOf(error)}`;
    if (healthy) this.#log("info", { healthy }, "became healthy");
    else this.#log("warn", { healthy, ...why }, `became unhealthy${cause}`);
    this.#events.emit({ kind: "health", healthy, ...(error === undefined ? {} : { error }) });
  }

  renewerFailed(error: unknown): void {
    this.#measure((metrics) => metrics.failure(this.#labels, codeOf(error)));
    this.#log("error", { err: error }, `lease renewal cannot run: ${messageOf(error)}`);
  }

  readiness(ready: boolean): void {
    this.#log("info", { ready }, ready ? "became ready" : "preparation began");
    this.#events.emit({ kind: "readiness", ready });
  }

  hookFailed(hook: HookName, error: unknown): void {
    this.#log("error", { hook, err: error }, `${hook} failed: ${messageOf(error)}`);
    this.#events.emit({ kind: "hook-failed", hook, error });
  }

  failed(error: Error): void {
    this.#log("error", { err: error }, `election failed: ${error.message}`);
    this.#events.emit({ kind: "failed", error });
    this.#events.end();
  }

  stopped(): void {
    this.#events.emit({ kind: "stopped" });
    this.#events.end();
  }

  #connected(status: ConnectionStatus): void {
    if (status === this.#connection) return;
    if (this.#connection === "disconnected") this.#log("info", {}, "elector answers again");
    this.#connection = status;
    this.#measure((metrics) => metrics.connectionStatus(this.#labels, status));
    this.#events.emit({ kind: "connection", status });
  }

  #logFailure(error: unknown): void {
    const code = codeOf(error);
    this.#measure((metrics) => metrics.failure(this.#labels, code));
    const repeated = this.#failures.count(code);
    if (repeated === null) return;
    const times = repeated === 0 ? "" : ` ${repeated + 1} times`;
    const level = isPermanent(error) ? "error" : "warn";
    this.#log(level, { err: error, repeated }, `request to the elector failed${times}: ${messageOf(error)}`);
  }

  #log(level: keyof Logger, more: object, message: string): void {
    const { group, node } = this.#labels;
    const led =
      this.#mandate === null ? {} : { term: this.#mandate.term, correlationId: this.#correlationId };
    const fields = { group, node, ...led, ...more };
    this.#code.call("logger", () => this.#options.logger[level](fields, message));
  }

  #measure(record: (metrics: ElectionMetrics) => unknown): void {
    this.#code.call("metrics", () => record(this.#options.metrics));
  }

  #startSpan(name: string, attributes: Record<string, string | number>): DeferredSpan {
    return new DeferredSpan(this.#code, () => this.#options.tracer?.startSpan(name, { attributes }));
  }

  #attributes(): Record<string, string> {
    return { "tenure.group": this.#labels.group, "tenure.node": this.#labels.node };
  }
}

/** A span that is started and ended outside the election's own call stack. */
class DeferredSpan {
  readonly #code: UserCode<TelemetryPart>;
  #span: Span | undefined;

  constructor(code: UserCode<TelemetryPart>, start: () => Span | undefined) {
    this.#code = code;
    code.call("tracer", () => {
      this.#span = start();
    });
  }

  act(use: (span: Span) => unknown): void {
    this.#code.call("tracer", () => (this.#span === undefined ? undefined : use(this.#span)));
  }

  end(key: string, value: string): void {
    this.act((span) => span.setAttribute(key, value));
    this.act((span) => span.end());
  }
}
