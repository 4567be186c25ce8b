/**
 * The interfaces through which an election reports about itself. They are small, so that this package depends on no
 * logger, registry or tracer: pino, prom-client (`prometheusMetrics`) and OpenTelemetry fit as they are.
 */
import { InvalidRequestError } from "@tenure/core";
import { isObject } from "@tenure/core/internal";
import type { ConnectionStatus } from "./state.js";

export type TelemetryPart = "logger" | "metrics" | "tracer";

/** The same as pino's. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** One method per series. `labels` are the same for all calls of one election. */
export interface ElectionMetrics {
  isLeader(labels: ElectionLabels, leads: boolean): void;
  connectionStatus(labels: ElectionLabels, status: ConnectionStatus): void;
  transition(labels: ElectionLabels, from: string, to: string): void;
  failure(labels: ElectionLabels, code: string): void;
  acquireAttempt(labels: ElectionLabels, outcome: "elected" | "lost" | "failed"): void;
  tokenValidationFailure(labels: ElectionLabels): void;
  heartbeat(labels: ElectionLabels, outcome: "renewed" | "failed", seconds: number): void;
  leaderDuration(labels: ElectionLabels, seconds: number): void;
  /** How long overdue work has continued after its signal; 0 when it has ended. */
  workOverdue(labels: ElectionLabels, seconds: number): void;
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
  workOverdue() {},
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

/** Refuses an object that lacks a method, so that the mistake is found when the election is created and not when it leads. */
export function checkLogger(given: Logger | undefined): Logger {
  return given === undefined ? SILENT : checkMethods(given, "logger", Object.keys(SILENT));
}

export function checkMetrics(given: ElectionMetrics | undefined): ElectionMetrics {
  return given === undefined ? NO_METRICS : checkMethods(given, "metrics", Object.keys(NO_METRICS));
}

export function checkTracer(given: Tracer | undefined): Tracer | null {
  return given === undefined ? null : checkMethods(given, "tracer", ["startSpan"]);
}

function checkMethods<T extends object>(given: T, field: string, names: readonly string[]): T {
  if (!isObject(given) && typeof given !== "function") {
    throw new InvalidRequestError(field, `must be an object with the methods ${names.join(", ")}`);
  }
  for (const name of names) {
    if (typeof (given as Readonly<Record<string, unknown>>)[name] === "function") continue;
    throw new InvalidRequestError(
      `${field}.${name}`,
      `must be a function; ${field} needs ${names.join(", ")}`,
    );
  }
  return given;
}
