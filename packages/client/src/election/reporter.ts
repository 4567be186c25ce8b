import type { Broadcast } from "./broadcast.js";
import type { ParsedElection } from "./options.js";
import { codeOf, isPermanent } from "./retry.js";
import type {
  ConnectionStatus,
  DemoteReason,
  ElectionEvent,
  ElectionState,
  KnownLeader,
  Mandate,
} from "./state.js";
import type { ElectionLabels, Span } from "./telemetry.js";

/** Tells events, logs, metrics and traces of one election, and keeps what only they need to remember. */
export class Reporter {
  readonly #options: ParsedElection;
  readonly #events: Broadcast<ElectionEvent>;
  readonly #labels: ElectionLabels;
  #correlationId: string | null = null;
  #mandate: Mandate | null = null;
  #promotedAtMs = 0;
  #span: Span | null = null;
  #connection: ConnectionStatus = "unknown";

  constructor(options: ParsedElection, events: Broadcast<ElectionEvent>) {
    this.#options = options;
    this.#events = events;
    this.#labels = { group: options.groupId, node: options.nodeId };
  }

  get connection(): ConnectionStatus {
    return this.#connection;
  }

  get correlationId(): string | null {
    return this.#correlationId;
  }

  moved(from: ElectionState, to: ElectionState): void {
    this.#options.metrics.transition(this.#labels, from.kind, to.kind);
    this.#options.metrics.isLeader(this.#labels, to.kind === "leading");
    this.#options.logger.debug(this.#fields({ from: from.kind, to: to.kind }), "election moved on");
  }

  /** `error`: why there was no answer; `null`: there was one. */
  contact(error: unknown): void {
    if (error !== null) {
      this.#options.metrics.failure(this.#labels, codeOf(error));
      const level = isPermanent(error) ? "error" : "warn";
      this.#options.logger[level](this.#fields({ err: error }), "the elector did not answer as it should");
    }
    const status = error === null || isPermanent(error) ? "connected" : "disconnected";
    if (status === this.#connection) return;
    this.#connection = status;
    this.#options.metrics.connectionStatus(this.#labels, status);
    this.#events.emit({ kind: "connection", status });
  }

  campaignSpan(): (outcome: "elected" | "lost" | "failed") => void {
    const span = this.#options.tracer?.startSpan("tenure.campaign", { attributes: this.#attributes() });
    return (outcome) => {
      this.#options.metrics.acquireAttempt(this.#labels, outcome);
      span?.setAttribute("tenure.outcome", outcome);
      span?.end();
    };
  }

  promoted(mandate: Mandate): void {
    this.#mandate = mandate;
    this.#correlationId = this.#options.newId();
    this.#promotedAtMs = this.#options.clock.monotonicMs();
    const attributes = { ...this.#attributes(), "tenure.term": mandate.term };
    this.#span = this.#options.tracer?.startSpan("tenure.leadership", { attributes }) ?? null;
    this.#options.logger.info(this.#fields({}), "leads");
    this.#events.emit({ kind: "promoted", mandate });
  }

  demoting(reason: DemoteReason): void {
    const seconds = (this.#options.clock.monotonicMs() - this.#promotedAtMs) / 1000;
    this.#options.metrics.leaderDuration(this.#labels, seconds);
    this.#options.logger.info(this.#fields({ reason }), "leads no more; its work is told to end");
    this.#span?.addEvent("demoting", { "tenure.reason": reason });
  }

  demoted(mandate: Mandate, reason: DemoteReason): void {
    this.#options.logger.info(this.#fields({ reason }), "its work has ended");
    this.#events.emit({ kind: "demoted", mandate, reason });
    this.#span?.setAttribute("tenure.reason", reason);
    this.#span?.end();
    this.#span = null;
    this.#mandate = null;
    this.#correlationId = null;
  }

  leaderChanged(leader: KnownLeader, previousId: string | null): void {
    this.#options.logger.info(
      this.#fields({ leader: leader.nodeId, leaderTerm: leader.term }),
      "another leader",
    );
    this.#events.emit({ kind: "leader-changed", leader, previousId });
  }

  danger(leftMs: number): void {
    if (this.#mandate === null) return;
    this.#options.logger.warn(this.#fields({ leftMs }), "half the ttl has gone without a renewal");
    this.#span?.addEvent("danger", { "tenure.left_ms": leftMs });
    this.#events.emit({ kind: "danger", mandate: this.#mandate, leftMs });
  }

  heartbeat(outcome: "renewed" | "failed", seconds: number): void {
    this.#options.metrics.heartbeat(this.#labels, outcome, seconds);
  }

  tokenInvalid(): void {
    this.#options.metrics.tokenValidationFailure(this.#labels);
    this.#options.logger.warn(this.#fields({}), "the store names another leader or term");
  }

  health(healthy: boolean): void {
    this.#options.logger[healthy ? "info" : "warn"](
      this.#fields({ healthy }),
      healthy ? "healthy again" : "unhealthy",
    );
    this.#events.emit({ kind: "health", healthy });
  }

  hookFailed(hook: string, error: unknown): void {
    this.#options.logger.error(this.#fields({ hook, err: error }), "a hook failed");
    this.#events.emit({ kind: "hook-failed", hook, error });
  }

  failed(error: Error): void {
    this.#options.logger.error(this.#fields({ err: error }), "the election has ended");
    this.#events.emit({ kind: "failed", error });
    this.#events.end();
  }

  stopped(): void {
    this.#events.emit({ kind: "stopped" });
    this.#events.end();
  }

  #fields(more: object): object {
    const { group, node } = this.#labels;
    const led =
      this.#mandate === null ? {} : { term: this.#mandate.term, correlationId: this.#correlationId };
    return { group, node, ...led, ...more };
  }

  #attributes(): Record<string, string> {
    return { "tenure.group": this.#labels.group, "tenure.node": this.#labels.node };
  }
}
