import { type Clock, InvalidRequestError, type Metadata, systemClock } from "@tenure/core";
import { checkId, checkInteger, checkKeys, isObject } from "@tenure/core/internal";
import { type ParsedRetry, parseRetry, type RetryOptions } from "../election/options.js";
import { type Logger, SILENT } from "../election/telemetry.js";
import { offStack } from "../election/user-code.js";

/** Returns the leader's address from its metadata; `null` if it has none. */
export type AddressOf = (metadata: Metadata) => string | null | undefined;

/** Options of `new Observer(elector, options)`. */
export interface ObserverOptions {
  /** The group to observe: 1 to 200 characters of `A-Z a-z 0-9 . _ : / -`. */
  readonly groupId: string;
  /** Returns the leader's address from its metadata. @defaultValue `metadata.address`, if that is a string */
  readonly address?: AddressOf | undefined;
  /**
   * How often the elector is asked in addition to each change, in milliseconds, from 1 to 3,600,000. While the elector
   * answers, the shown state is at most this old, even if the watch has failed silently. Too small: a read of the elector
   * at each interval.
   *
   * @defaultValue 10,000
   */
  readonly checkIntervalMs?: number | undefined;
  /**
   * Timeout of one read, in milliseconds, from 1 to 3,600,000.
   *
   * @defaultValue 5000
   */
  readonly connectionTimeoutMs?: number | undefined;
  /** Backoff after failures. `maxAttempts` is refused: an observer never gives up. @defaultValue 100 ms to 5 s, doubling */
  readonly retry?: Omit<RetryOptions, "maxAttempts"> | undefined;
  /** Where log lines go. @defaultValue none: nothing is logged */
  readonly logger?: Logger | undefined;
  /** The source of time, for tests. @defaultValue `systemClock` */
  readonly clock?: Clock | undefined;
  /** Returns a number from 0 to 1 (exclusive), for backoff; for tests. @defaultValue `Math.random` */
  readonly random?: (() => number) | undefined;
}

export interface ParsedObserver {
  readonly groupId: string;
  readonly address: AddressOf;
  readonly checkIntervalMs: number;
  readonly connectionTimeoutMs: number;
  readonly retry: ParsedRetry;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: () => number;
}

const KNOWN: readonly (keyof ObserverOptions)[] = [
  "groupId",
  "address",
  "checkIntervalMs",
  "connectionTimeoutMs",
  "retry",
  "logger",
  "clock",
  "random",
];
const MAX_MS = 3_600_000;

export function parseObserver(given: ObserverOptions): ParsedObserver {
  if (!isObject(given)) throw new InvalidRequestError("options", "must be an object");
  checkKeys(given, "", KNOWN);
  const { address, retry } = given;
  if (address !== undefined && typeof address !== "function") {
    throw new InvalidRequestError("address", "must be a function");
  }
  if (isObject(retry) && "maxAttempts" in retry) {
    throw new InvalidRequestError("retry.maxAttempts", "is not known here; an observer never gives up");
  }
  return Object.freeze({
    groupId: checkId(given.groupId, "groupId"),
    address: address ?? addressIn,
    checkIntervalMs: checkInteger(given.checkIntervalMs ?? 10_000, "checkIntervalMs", 1, MAX_MS),
    connectionTimeoutMs: checkInteger(given.connectionTimeoutMs ?? 5000, "connectionTimeoutMs", 1, MAX_MS),
    retry: parseRetry(retry),
    // If the logger itself fails, there is nowhere left to report it.
    logger: offStack(given.logger ?? SILENT, () => {}),
    clock: given.clock ?? systemClock,
    random: given.random ?? Math.random,
  });
}

function addressIn({ address }: Metadata): string | null {
  return typeof address === "string" ? address : null;
}
