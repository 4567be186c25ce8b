/**
 * What an election tells the world about itself. Three small interfaces, so that this package depends on nobody's logger,
 * registry or tracer: pino, prom-client (`prometheusMetrics`) and OpenTelemetry fit as they are.
 */
import type { ConnectionStatus } from "./state.js";

/** As pino has it. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** One series each. `labels` are the same for all of an election. */
export interface ElectionMetrics {
  isLeader(labels: ElectionLabels, leads: boolean): void;
  connectionStatus(labels: ElectionLabels, status: ConnectionStatus): void;
  transition(labels: ElectionLabels, from: string, to: string): void;
  failure(labels: ElectionLabels, code: string): void;
  acquireAttempt(labels: ElectionLabels, outcome: "elected" | "lost" | "failed"): void;
  tokenValidationFailure(labels: ElectionLabels): void;
  heartbeat(labels: ElectionLabels, outcome: "renewed" | "failed", seconds: number): void;
  leaderDuration(labels: ElectionLabels, seconds: number): void;
}

export interface ElectionLabels {
  readonly group: string;
  readonly node: string;
}

export const NO_METRICS: ElectionMetrics = {
  isLeader() {},
  connectionStatus() {},
  transition() {},
  failure() {},
  acquireAttempt() {},
  tokenValidationFailure() {},
  heartbeat() {},
  leaderDuration() {},
};

/** The part of OpenTelemetry's `Tracer` and `Span` that is used here. */
export interface Tracer {
  startSpan(
    name: string,
    options?: { readonly attributes?: Readonly<Record<string, string | number>> },
  ): Span;
}

export interface Span {
  addEvent(name: string, attributes?: Readonly<Record<string, string | number>>): unknown;
  setAttribute(key: string, value: string | number): unknown;
  end(): void;
}
