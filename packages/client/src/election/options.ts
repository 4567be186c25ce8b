import { randomUUID } from "node:crypto";
import {
  DEFAULT_DRIFT_RATIO,
  type Clock,
  InvalidRequestError,
  type Metadata,
  systemClock,
  TTL_BOUNDS_MS,
} from "@tenure/core";
import { checkId, checkInteger, checkKeys, checkNumber, isObject, LIMITS } from "@tenure/core/internal";
import type { Breaker } from "./breaker.js";
import type { ElectionOptions, FencingOptions, RetryOptions } from "./election-options.js";
import type { HealthChecker } from "./health.js";
import type { LeaseRenewerFactory } from "./lease-renewer.js";
import { parseMetadata } from "./metadata.js";
import { defaultNodeId } from "./node-id.js";
import type { Prepare } from "./preparation.js";
import {
  checkLogger,
  checkMetrics,
  checkTracer,
  type ElectionMetrics,
  type Logger,
  type Tracer,
} from "./telemetry.js";

export type { ElectionOptions, FencingOptions, RetryOptions } from "./election-options.js";

export interface ParsedRetry {
  readonly maxAttempts: number;
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
  readonly multiplier: number;
  readonly jitter: number;
}

export interface ParsedElection {
  readonly groupId: string;
  readonly nodeId: string;
  readonly ttlMs: number;
  readonly heartbeatIntervalMs: number;
  readonly priority: number;
  readonly priorityTakeover: boolean;
  readonly metadata: Metadata | undefined;
  readonly connectionTimeoutMs: number;
  readonly disconnectGracePeriodMs: number | null;
  readonly maxConsecutiveFailures: number | null;
  readonly fencing: {
    readonly validationIntervalMs: number;
    readonly validateOnCriticalOps: boolean;
    readonly cacheToken: boolean;
  };
  readonly healthChecker: HealthChecker | null;
  readonly healthTimeoutMs: number;
  readonly maxHealthFailures: number;
  readonly retry: ParsedRetry;
  readonly onPromoteFailure: "resign" | "keep";
  readonly deleteOnStop: boolean;
  readonly takeoverDelayMs: number;
  readonly prepare: Prepare | null;
  readonly campaignWhilePreparing: boolean;
  readonly campaignWaitMs: number;
  readonly stopMarginMs: number;
  readonly logger: Logger;
  readonly metrics: ElectionMetrics;
  readonly tracer: Tracer | null;
  readonly breaker: Breaker | null;
  readonly renewer: LeaseRenewerFactory | null;
  readonly driftRatio: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly newId: () => string;
}

const KNOWN: readonly (keyof ElectionOptions)[] = [
  "groupId",
  "nodeId",
  "ttlMs",
  "heartbeatIntervalMs",
  "priority",
  "priorityTakeover",
  "metadata",
  "connectionTimeoutMs",
  "disconnectGracePeriodMs",
  "maxConsecutiveFailures",
  "fencing",
  "healthChecker",
  "healthTimeoutMs",
  "maxHealthFailures",
  "retry",
  "onPromoteFailure",
  "deleteOnStop",
  "takeoverDelayMs",
  "prepare",
  "campaignWhilePreparing",
  "campaignWaitMs",
  "stopMarginMs",
  "logger",
  "metrics",
  "tracer",
  "breaker",
  "renewer",
  "driftRatio",
  "clock",
  "random",
  "newId",
];

const DEFAULT_TTL_MS = 5000;
/** One hour: the longest wait that a client accepts. */
const MAX_MS = 3_600_000;

export function parseElection(given: ElectionOptions): ParsedElection {
  if (!isObject(given)) throw new InvalidRequestError("options", "must be an object");
  checkKeys(given, "", KNOWN);
  const ttlMs = checkInteger(given.ttlMs ?? DEFAULT_TTL_MS, "ttlMs", TTL_BOUNDS_MS.min, TTL_BOUNDS_MS.max);
  const heartbeatIntervalMs = checkInteger(
    given.heartbeatIntervalMs ?? Math.min(MAX_MS, Math.floor(ttlMs / 5)),
    "heartbeatIntervalMs",
    1,
    MAX_MS,
  );
  checkAtMost("heartbeatIntervalMs", heartbeatIntervalMs, "a third of ttlMs", ttlMs, Math.floor(ttlMs / 3));
  const timeout = (field: "connectionTimeoutMs" | "healthTimeoutMs") => {
    const byDefault = Math.max(1, Math.floor(heartbeatIntervalMs * 0.75));
    const value = checkInteger(given[field] ?? byDefault, field, 1, MAX_MS);
    return checkLess(field, value, "heartbeatIntervalMs", heartbeatIntervalMs);
  };
  const graceMs = given.disconnectGracePeriodMs;
  const stopMarginMs = checkInteger(
    given.stopMarginMs ?? Math.min(MAX_MS, Math.ceil(ttlMs / 10)),
    "stopMarginMs",
    0,
    MAX_MS,
  );
  // Otherwise a single failed renewal would end the leadership.
  checkAtMost("stopMarginMs", stopMarginMs, "half of ttlMs", ttlMs, Math.floor(ttlMs / 2));
  const connectionTimeoutMs = timeout("connectionTimeoutMs");
  const driftRatio = checkNumber(given.driftRatio ?? DEFAULT_DRIFT_RATIO, "driftRatio", 0, 0.2);
  const leaseMs = Math.floor(ttlMs * (1 - driftRatio));
  checkStopMargin(stopMarginMs, leaseMs, heartbeatIntervalMs + connectionTimeoutMs);
  const clock = given.clock ?? systemClock;
  const renewer = checkFunction(given.renewer, "renewer");
  renewer?.check?.({ heartbeatIntervalMs, clock });
  return Object.freeze({
    groupId: checkId(given.groupId, "groupId"),
    nodeId: checkId(given.nodeId ?? defaultNodeId(), "nodeId"),
    ttlMs,
    heartbeatIntervalMs,
    priority: checkInteger(given.priority ?? 0, "priority", -LIMITS.priority, LIMITS.priority),
    priorityTakeover: checkBoolean(given.priorityTakeover, "priorityTakeover", false),
    metadata: parseMetadata(given.metadata, "metadata"),
    connectionTimeoutMs,
    disconnectGracePeriodMs:
      graceMs === undefined ? null : checkGrace(graceMs, ttlMs, heartbeatIntervalMs + connectionTimeoutMs),
    maxConsecutiveFailures:
      given.maxConsecutiveFailures === undefined
        ? null
        : checkInteger(given.maxConsecutiveFailures, "maxConsecutiveFailures", 1, 1_000_000),
    fencing: parseFencing(given.fencing),
    healthChecker: checkFunction(given.healthChecker, "healthChecker"),
    healthTimeoutMs: timeout("healthTimeoutMs"),
    maxHealthFailures: checkInteger(given.maxHealthFailures ?? 1, "maxHealthFailures", 1, 1_000_000),
    retry: parseRetry(given.retry),
    onPromoteFailure: checkPromoteFailure(given.onPromoteFailure),
    deleteOnStop: checkBoolean(given.deleteOnStop, "deleteOnStop", true),
    takeoverDelayMs: checkInteger(given.takeoverDelayMs ?? 0, "takeoverDelayMs", 0, MAX_MS),
    prepare: checkFunction(given.prepare, "prepare"),
    campaignWhilePreparing: checkBoolean(given.campaignWhilePreparing, "campaignWhilePreparing", true),
    campaignWaitMs: checkInteger(given.campaignWaitMs ?? 30_000, "campaignWaitMs", 0, LIMITS.waitMs),
    stopMarginMs,
    logger: checkLogger(given.logger),
    metrics: checkMetrics(given.metrics),
    tracer: checkTracer(given.tracer),
    breaker: given.breaker ?? null,
    renewer,
    driftRatio,
    clock,
    random: given.random ?? Math.random,
    newId: given.newId ?? randomUUID,
  });
}

function parseFencing(given: FencingOptions | undefined): ParsedElection["fencing"] {
  const fencing = checkObject(given, "fencing", [
    "validationIntervalMs",
    "validateOnCriticalOps",
    "cacheToken",
  ]);
  const field = "fencing.validationIntervalMs";
  const validationIntervalMs = checkInteger(fencing.validationIntervalMs ?? 0, field, 0, MAX_MS);
  const cacheToken = checkBoolean(fencing.cacheToken, "fencing.cacheToken", false);
  if (cacheToken && validationIntervalMs === 0) {
    throw new InvalidRequestError(
      "fencing.cacheToken",
      "is true and fencing.validationIntervalMs is 0; set it to how long a confirmation counts",
    );
  }
  return {
    validationIntervalMs,
    cacheToken,
    validateOnCriticalOps: checkBoolean(
      fencing.validateOnCriticalOps,
      "fencing.validateOnCriticalOps",
      false,
    ),
  };
}

export function parseRetry(given: RetryOptions | undefined): ParsedRetry {
  const known = ["maxAttempts", "initialBackoffMs", "maxBackoffMs", "multiplier", "jitter"];
  const retry = checkObject(given, "retry", known);
  const initialBackoffMs = checkInteger(retry.initialBackoffMs ?? 100, "retry.initialBackoffMs", 1, MAX_MS);
  const maxBackoffMs = checkInteger(
    retry.maxBackoffMs ?? Math.max(5000, initialBackoffMs),
    "retry.maxBackoffMs",
    1,
    MAX_MS,
  );
  if (maxBackoffMs < initialBackoffMs) {
    throw new InvalidRequestError(
      "retry.maxBackoffMs",
      `is ${maxBackoffMs} and must not be less than retry.initialBackoffMs, which is ${initialBackoffMs}`,
    );
  }
  return {
    maxAttempts: checkInteger(retry.maxAttempts ?? 0, "retry.maxAttempts", 0, 1_000_000),
    initialBackoffMs,
    maxBackoffMs,
    multiplier: checkNumber(retry.multiplier ?? 2, "retry.multiplier", 1, 100),
    jitter: checkNumber(retry.jitter ?? 1, "retry.jitter", 0, 1),
  };
}

function checkLess(field: string, value: number, other: string, otherValue: number): number {
  if (value < otherValue) return value;
  throw new InvalidRequestError(field, `is ${value} and must be less than ${other}, which is ${otherValue}`);
}

function checkAtMost(field: string, value: number, what: string, of: number, limit: number): void {
  if (value > limit)
    throw new InvalidRequestError(field, `is ${value} and must be at most ${what}, which is ${of}`);
}

/** Otherwise the signal would abort before a renewal can have succeeded. */
function checkStopMargin(stopMarginMs: number, leaseMs: number, beatMs: number): void {
  const leftMs = leaseMs - stopMarginMs;
  if (leftMs >= beatMs) return;
  throw new InvalidRequestError(
    "stopMarginMs",
    `is ${stopMarginMs} and leaves ${leftMs} ms of the lease, less than heartbeatIntervalMs and connectionTimeoutMs take together, which is ${beatMs}`,
  );
}

/** Otherwise the process would step down although every renewal is answered. */
function checkGrace(given: number, ttlMs: number, beatMs: number): number {
  const field = "disconnectGracePeriodMs";
  const graceMs = checkLess(field, checkInteger(given, field, 0, MAX_MS), "ttlMs", ttlMs);
  if (graceMs >= beatMs) return graceMs;
  throw new InvalidRequestError(
    field,
    `is ${graceMs} and must be at least heartbeatIntervalMs and connectionTimeoutMs together, which is ${beatMs}`,
  );
}

function checkPromoteFailure(given: unknown): "resign" | "keep" {
  if (given === undefined || given === "resign" || given === "keep") return given ?? "resign";
  throw new InvalidRequestError("onPromoteFailure", 'must be "resign" or "keep"');
}

function checkObject<T extends object>(given: T | undefined, field: string, known: readonly string[]): T {
  if (given === undefined) return {} as T;
  if (!isObject(given)) throw new InvalidRequestError(field, "must be an object");
  checkKeys(given, field, known);
  return given;
}

function checkBoolean(given: unknown, field: string, byDefault: boolean): boolean {
  if (given === undefined) return byDefault;
  if (typeof given !== "boolean") throw new InvalidRequestError(field, "must be true or false");
  return given;
}

function checkFunction<T>(given: T | undefined, field: string): T | null {
  if (given === undefined) return null;
  if (typeof given !== "function") throw new InvalidRequestError(field, "must be a function");
  return given;
}
