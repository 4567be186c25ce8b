import { InvalidRequestError } from "./errors.js";
import { checkInteger, checkKeys, checkNumber, either, isObject } from "./check.js";

/** How a refused candidate should space its attempts; the elector computes `retryAfterMs` from it. */
export interface RetryPolicy {
  readonly initialMs: number;
  readonly maxMs: number;
  /** 0 to 1: the share of the delay that is drawn at random. */
  readonly jitter: number;
}

export interface GroupPolicy {
  readonly minTtlMs: number;
  readonly maxTtlMs: number;
  /** How long a group stays without a leader after a lease expired, in milliseconds; not after any other end of a term. */
  readonly takeoverDelayMs: number;
  /** Which waiting candidate wins: the first to arrive, or the one with the highest priority. */
  readonly strategy: "first" | "priority";
  /** A waiting candidate of higher priority may ask the leader to hand over. Needs strategy `priority`. */
  readonly preempt: boolean;
  readonly retry: RetryPolicy;
}

export type PolicyInput = {
  readonly [K in keyof Omit<GroupPolicy, "retry">]?: GroupPolicy[K] | undefined;
} & { readonly retry?: { readonly [K in keyof RetryPolicy]?: number | undefined } | undefined };

export const DEFAULT_POLICY: GroupPolicy = Object.freeze({
  minTtlMs: 500,
  maxTtlMs: 60_000,
  takeoverDelayMs: 0,
  strategy: "first",
  preempt: false,
  retry: Object.freeze({ initialMs: 100, maxMs: 5_000, jitter: 0.2 }),
});

export const TTL_BOUNDS_MS = { min: 100, max: 86_400_000 } as const;
const TAKEOVER_DELAY_MAX_MS = 3_600_000;
const RETRY_MAX_MS = 3_600_000;

/** `base` with what `input` changes, checked as a whole. */
export function parsePolicy(input: unknown, base: GroupPolicy, field = "policy"): GroupPolicy {
  if (input === undefined) return base;
  if (!isObject(input)) throw new InvalidRequestError(field, "must be an object");
  checkKeys(input, field, ["minTtlMs", "maxTtlMs", "takeoverDelayMs", "strategy", "preempt", "retry"]);
  const given = input as { [K in keyof GroupPolicy]?: unknown };
  const policy: GroupPolicy = {
    minTtlMs: checkInteger(
      either(given.minTtlMs, base.minTtlMs),
      `${field}.minTtlMs`,
      TTL_BOUNDS_MS.min,
      TTL_BOUNDS_MS.max,
    ),
    maxTtlMs: checkInteger(
      either(given.maxTtlMs, base.maxTtlMs),
      `${field}.maxTtlMs`,
      TTL_BOUNDS_MS.min,
      TTL_BOUNDS_MS.max,
    ),
    takeoverDelayMs: checkInteger(
      either(given.takeoverDelayMs, base.takeoverDelayMs),
      `${field}.takeoverDelayMs`,
      0,
      TAKEOVER_DELAY_MAX_MS,
    ),
    strategy: parseStrategy(either(given.strategy, base.strategy), `${field}.strategy`),
    preempt: parseFlag(either(given.preempt, base.preempt), `${field}.preempt`),
    retry: parseRetry(given.retry, base.retry, `${field}.retry`),
  };
  if (policy.minTtlMs > policy.maxTtlMs) {
    throw new InvalidRequestError(
      `${field}.minTtlMs`,
      (nameOf) =>
        `is ${policy.minTtlMs}, more than ${nameOf(`${field}.maxTtlMs`)}, which is ${policy.maxTtlMs}`,
    );
  }
  if (policy.preempt && policy.strategy !== "priority") {
    throw new InvalidRequestError(
      `${field}.preempt`,
      (nameOf) => `is true and needs ${nameOf(`${field}.strategy`)} "priority", which is "first"`,
    );
  }
  return policy;
}

function parseStrategy(value: unknown, field: string): GroupPolicy["strategy"] {
  if (value !== "first" && value !== "priority")
    throw new InvalidRequestError(field, 'must be "first" or "priority"');
  return value;
}

function parseFlag(value: unknown, field: string): boolean {
  if (typeof value !== "boolean") throw new InvalidRequestError(field, "must be true or false");
  return value;
}

function parseRetry(input: unknown, base: RetryPolicy, field: string): RetryPolicy {
  if (input === undefined) return base;
  if (!isObject(input)) throw new InvalidRequestError(field, "must be an object");
  checkKeys(input, field, ["initialMs", "maxMs", "jitter"]);
  const given = input as { [K in keyof RetryPolicy]?: unknown };
  const retry = {
    initialMs: checkInteger(either(given.initialMs, base.initialMs), `${field}.initialMs`, 1, RETRY_MAX_MS),
    maxMs: checkInteger(either(given.maxMs, base.maxMs), `${field}.maxMs`, 1, RETRY_MAX_MS),
    jitter: checkNumber(either(given.jitter, base.jitter), `${field}.jitter`, 0, 1),
  };
  if (retry.initialMs > retry.maxMs) {
    throw new InvalidRequestError(
      `${field}.initialMs`,
      (nameOf) => `is ${retry.initialMs}, more than ${nameOf(`${field}.maxMs`)}, which is ${retry.maxMs}`,
    );
  }
  return retry;
}
