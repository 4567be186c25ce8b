import type { ParsedRetry } from "./options.js";

/** No repetition helps: a person has to change something. Every other error may pass. */
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

/** Exponential, with as much of each wait drawn at random as `jitter` says, so that those who failed together part. */
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

  /** Counts a failure and says how long to wait after it. */
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

/** How long a process that fails each time it leads stays out, so that others can lead instead: longer each time in a row. */
export class Rest {
  readonly #backoff: Backoff;
  readonly #resetAfterMs: number;

  constructor(retry: ParsedRetry, random: () => number) {
    this.#backoff = new Backoff(retry, random);
    this.#resetAfterMs = retry.maxBackoffMs;
  }

  /** After a leadership that lasted `ledMs`. One that lasted long enough, or ended well, begins the row again. */
  afterMs(hasFailed: boolean, ledMs: number): number {
    if (!hasFailed || ledMs > this.#resetAfterMs) this.#backoff.reset();
    return hasFailed ? this.#backoff.next() : 0;
  }
}

/** What a service that limits its callers asks for. */
function retryAfterMs(error: unknown): number {
  const given = (error as { retryAfterMs?: unknown } | null | undefined)?.retryAfterMs;
  return typeof given === "number" ? given : 0;
}
