import { type Clock, InvalidRequestError, type Metadata, systemClock } from "@tenure/core";
import { checkId, checkInteger, checkKeys, isObject } from "@tenure/core/internal";
import { type ParsedRetry, parseRetry, type RetryOptions } from "../election/options.js";
import { type Logger, SILENT } from "../election/telemetry.js";
import { offStack } from "../election/user-code.js";

/** Where a leader is reached, of what it tells about itself; `null` if it does not say. */
export type AddressOf = (metadata: Metadata) => string | null | undefined;

/** Options of `new Observer(elector, options)`. */
export interface ObserverOptions {
  readonly groupId: string;
  /** `metadata.address` by default. */
  readonly address?: AddressOf | undefined;
  /** How often the elector is asked, besides each change; so old is what is shown at most while there are answers. */
  readonly checkIntervalMs?: number | undefined;
  /** The longest that one question may take. */
  readonly connectionTimeoutMs?: number | undefined;
  /** `maxAttempts` is no part of it: an observer asks for ever. */
  readonly retry?: Omit<RetryOptions, "maxAttempts"> | undefined;
  readonly logger?: Logger | undefined;
  readonly clock?: Clock | undefined;
  /** 0 to 1. */
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
    // Where the logger itself fails, there is nothing left to report it to.
    logger: offStack(given.logger ?? SILENT, () => {}),
    clock: given.clock ?? systemClock,
    random: given.random ?? Math.random,
  });
}

function addressIn({ address }: Metadata): string | null {
  return typeof address === "string" ? address : null;
}
