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
import type { HealthChecker } from "./health.js";
import type { LeaseRenewerFactory } from "./lease-renewer.js";
import { parseMetadata } from "./metadata.js";
import { defaultNodeId } from "./node-id.js";
import type { PreparationOptions, Prepare } from "./preparation.js";
import {
  checkLogger,
  checkMetrics,
  checkTracer,
  type ElectionMetrics,
  type Logger,
  type Tracer,
} from "./telemetry.js";

/** How long to wait after a failure before the next attempt: exponential backoff with jitter. */
export interface RetryOptions {
  /** Campaigns in a row that may fail before the election gives up; 0 (default): it never does. */
  readonly maxAttempts?: number | undefined;
  readonly initialBackoffMs?: number | undefined;
  readonly maxBackoffMs?: number | undefined;
  readonly multiplier?: number | undefined;
  /** How much of each wait is drawn at random: 1 (default) all of it, 0 none. */
  readonly jitter?: number | undefined;
}

export interface FencingOptions {
  /** While leading, ask the store so often whether this term still leads; 0 (default): never. */
  readonly validationIntervalMs?: number | undefined;
  /** `assertLeader` asks the store too. */
  readonly validateOnCriticalOps?: boolean | undefined;
  /** What the store has confirmed less than `validationIntervalMs` ago is not asked again. */
  readonly cacheToken?: boolean | undefined;
}

/** Options of `new Election(elector, options)`. Unknown keys and values out of bounds are refused with `InvalidRequestError`. */
export interface ElectionOptions extends PreparationOptions {
  readonly groupId: string;
  /**
   * Names this process among the candidates. 1 to 200 of `A-Z a-z 0-9 . _ : / -`; anything else is refused.
   * @defaultValue the host name and a random suffix, the same for all elections of the process
   */
  readonly nodeId?: string | undefined;
  /**
   * How long a crashed leader blocks the group. From 100 to 86,400,000; the elector refuses what the group's policy does not admit.
   * @defaultValue 5000
   */
  readonly ttlMs?: number | undefined;
  /** A fifth of the ttl by default, at most a third. */
  readonly heartbeatIntervalMs?: number | undefined;
  /** The higher wins where the group's policy goes by priority. */
  readonly priority?: number | undefined;
  /** Gives the group the policy by which a higher priority takes over from a lower one that leads; needs an operator's rights. */
  readonly priorityTakeover?: boolean | undefined;
  /**
   * Shown to everybody with the leader: an address, a version. A JSON object of at most 4 KiB, checked when the election is
   * made; functions and other values that JSON cannot hold are refused by their path. `update()` changes it.
   */
  readonly metadata?: Metadata | undefined;
  /**
   * After so long without an answer another renewal is tried; a late one counts for a third of the ttl. A question is given
   * up then, a campaign after half the ttl.
   */
  readonly connectionTimeoutMs?: number | undefined;
  /**
   * Step down when no renewal has been answered for this long, counted from when the last answered one was sent, though the
   * lease may still run. Less than `ttlMs`, and at least `heartbeatIntervalMs` and `connectionTimeoutMs` together.
   * @defaultValue none: the lease decides
   */
  readonly disconnectGracePeriodMs?: number | undefined;
  /** Step down after so many heartbeats in a row without success; by default the lease decides. */
  readonly maxConsecutiveFailures?: number | undefined;
  readonly fencing?: FencingOptions | undefined;
  /** Asked before each heartbeat, and before and while standing for election. */
  readonly healthChecker?: HealthChecker | undefined;
  readonly healthTimeoutMs?: number | undefined;
  /** Checks in a row that must fail before the leadership is given up. */
  readonly maxHealthFailures?: number | undefined;
  readonly retry?: RetryOptions | undefined;
  /**
   * What happens when `onPromote` rejects before its signal aborts. "resign": the leadership is given up with reason
   * `promote-failed`, and this process stands again after a backoff (see `retry`). "keep": the failure is reported and the
   * process leads on without work.
   * @defaultValue "resign"
   */
  readonly onPromoteFailure?: "resign" | "keep" | undefined;
  /** Resign when stopped (default), so that the next leader need not wait for the lease to end. */
  readonly deleteOnStop?: boolean | undefined;
  /** After a leader's lease has run out, let it so long to come back before standing. */
  readonly takeoverDelayMs?: number | undefined;
  /**
   * How long one campaign waits in the elector's queue; 0: campaign whenever the watch shows a vacancy. A campaign never waits
   * for longer than ttl / (8 · driftRatio): the clocks of both sides disagree about a long wait, and the first lease pays for it.
   * @defaultValue 30,000
   */
  readonly campaignWaitMs?: number | undefined;
  /** The signal aborts so long before the deadline, for the work to end in. A tenth of the ttl by default. */
  readonly stopMarginMs?: number | undefined;
  readonly logger?: Logger | undefined;
  readonly metrics?: ElectionMetrics | undefined;
  readonly tracer?: Tracer | undefined;
  /** Shared by elections over one elector, so that together they ask a failing one no more than one would. */
  readonly breaker?: Breaker | undefined;
  /** Who renews: the event loop (default), or a thread of its own. */
  readonly renewer?: LeaseRenewerFactory | undefined;
  readonly driftRatio?: number | undefined;
  readonly clock?: Clock | undefined;
  /** 0 to 1. */
  readonly random?: (() => number) | undefined;
  /** Names this start of the process and each of its leaderships. Never the same twice. */
  readonly newId?: (() => string) | undefined;
}

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
/** An hour: no wait of a client is longer. */
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
  // Else a single renewal that fails would end the leadership.
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
      "is true and fencing.validationIntervalMs is 0; say for how long a confirmation counts",
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

/** Else the work would be told to end before a renewal can have come through. */
function checkStopMargin(stopMarginMs: number, leaseMs: number, beatMs: number): void {
  const leftMs = leaseMs - stopMarginMs;
  if (leftMs >= beatMs) return;
  throw new InvalidRequestError(
    "stopMarginMs",
    `is ${stopMarginMs} and leaves ${leftMs} ms of the lease, less than heartbeatIntervalMs and connectionTimeoutMs take together, which is ${beatMs}`,
  );
}

/** Else it would step down although every renewal is answered. */
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
