import type { ParsedRetry } from "./options.js";

/** Codes for which a retry does not help until a person changes something. Every other error may be temporary. */
const PERMANENT: ReadonlySet<unknown> = new Set([
  "INVALID_REQUEST",
  "INVALID_TTL",
  "UNAUTHORIZED",
  "UNAUTHENTICATED",
  "GROUP_NOT_FOUND",
  "TOO_MANY_GROUPS",
  "CLOSED",
]);

export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" ? code : "UNKNOWN";
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function isPermanent(error: unknown): boolean {
  return PERMANENT.has(codeOf(error));
}

/**
 * Exponential backoff. `jitter` is the random share of each wait, so that clients that failed together do not retry
 * together.
 */
export class Backoff {
  readonly #retry: ParsedRetry;
  readonly #random: () => number;
  #failures = 0;

  constructor(retry: ParsedRetry, random: () => number) {
    this.#retry = retry;
    this.#random = random;
  }

  get failures(): number {
    return this.#failures;
  }

  /** Counts a failure and returns how long to wait after it. */
  next(error?: unknown): number {
    const { initialBackoffMs, maxBackoffMs, multiplier, jitter } = this.#retry;
    const fullMs = Math.min(maxBackoffMs, initialBackoffMs * multiplier ** this.#failures);
    this.#failures += 1;
    const drawnMs = fullMs * (1 - jitter) + fullMs * jitter * this.#random();
    if (isPermanent(error)) return maxBackoffMs;
    return Math.max(drawnMs, retryAfterMs(error));
  }

  reset(): void {
    this.#failures = 0;
  }
}

/**
 * How long a process that fails each time it leads stays out, so that others can lead: longer after each failure in a
 * row.
 */
export class Rest {
  readonly #backoff: Backoff;
  readonly #resetAfterMs: number;

  constructor(retry: ParsedRetry, random: () => number) {
    this.#backoff = new Backoff(retry, random);
    this.#resetAfterMs = retry.maxBackoffMs;
  }

  /** For a leadership that lasted `ledMs`. One that lasted long enough, or ended well, resets the backoff. */
  afterMs(hasFailed: boolean, ledMs: number): number {
    if (!hasFailed || ledMs > this.#resetAfterMs) this.#backoff.reset();
    return hasFailed ? this.#backoff.next() : 0;
  }
}

/** The wait that a service with rate limits asks for. */
function retryAfterMs(error: unknown): number {
  const given = (error as { retryAfterMs?: unknown } | null | undefined)?.retryAfterMs;
  return typeof given === "number" ? given : 0;
}
