import type { ElectionOptions, Logger } from "@tenure/client";
import { type Clock, type Elector, InvalidRequestError, systemClock } from "@tenure/core";
import { checkInteger, checkKeys, isObject } from "@tenure/core/internal";
import type { ChildSpec } from "../supervisor/child.js";
import type { RestartLimitOptions } from "../supervisor/restart-limit.js";
import type { Strategy } from "../supervisor/supervisor.js";
import {
  DEFAULT_ELECTION_INTERVAL_MS,
  DEFAULT_TAKEOVER_DELAY_MS,
  MIN_ELECTION_INTERVAL_MS,
  warnOfStaticSetting,
} from "./environment.js";

export interface CoordinatorOptions {
  readonly elector: Elector;
  readonly nodeId: string;
  readonly groupId?: string;
  /** Whether this node may coordinate at all. */
  readonly eligible?: boolean;
  /** What runs on the coordinator and nowhere else, in the order of their start. */
  readonly children: readonly ChildSpec[];
  readonly strategy?: Strategy;
  /** How often children may be started again before the leadership is given to a healthier node. */
  readonly intensity?: RestartLimitOptions;
  /** The same for the candidate itself, before it has failed for good. */
  readonly candidateIntensity?: RestartLimitOptions;
  /** After its children could not be kept alive, a node does not stand for so long. */
  readonly unfitForMs?: number;
  readonly ttlMs?: number;
  /** A crashed coordinator has so long, beyond its lease, to come back. */
  readonly takeoverDelayMs?: number;
  /** How often a standby looks who coordinates, and gives a sign of life. */
  readonly electionIntervalMs?: number;
  /** Children that have not ended so long before the lease does are killed. */
  readonly killMarginMs?: number;
  /**
   * Called with the ids of in-process children that ignore their signal, when their time to end is over or the lease is about
   * to end. If it returns while they still run, they may act beside the next coordinator's.
   *
   * @defaultValue names them on stderr and ends the process with exit code 70
   */
  readonly onStuck?: ((ids: readonly string[]) => void) | undefined;
  /**
   * Logs of the coordinator and, unless `election.logger` is given, of the `Election` underneath. An object that lacks one
   * of `debug`, `info`, `warn` and `error` is refused; one that throws is ignored.
   *
   * @defaultValue warnings and errors of the coordinator, such as crashes of children, on stderr; nothing of the election
   */
  readonly logger?: Logger | undefined;
  /** More for the `Election` underneath: health checks, a logger of its own, metrics. */
  readonly election?: Omit<
    Partial<ElectionOptions>,
    "groupId" | "nodeId" | "ttlMs" | "takeoverDelayMs" | "clock"
  >;
  /** Ignored: the coordinator is elected. */
  readonly cluster_coordinator?: unknown;
  readonly clock?: Clock;
}

export interface ParsedCoordinator {
  readonly given: CoordinatorOptions;
  readonly groupId: string;
  readonly eligible: boolean;
  readonly ttlMs: number;
  readonly takeoverDelayMs: number;
  readonly electionIntervalMs: number;
  readonly unfitForMs: number;
  readonly killMarginMs: number;
  readonly clock: Clock;
}

const KNOWN: readonly (keyof CoordinatorOptions)[] = [
  "elector",
  "nodeId",
  "groupId",
  "eligible",
  "children",
  "strategy",
  "intensity",
  "candidateIntensity",
  "unfitForMs",
  "ttlMs",
  "takeoverDelayMs",
  "electionIntervalMs",
  "killMarginMs",
  "onStuck",
  "logger",
  "election",
  "cluster_coordinator",
  "clock",
];

const MAX_MS = 3_600_000;

export function parseCoordinator(given: CoordinatorOptions): ParsedCoordinator {
  if (!isObject(given)) throw new InvalidRequestError("options", "must be an object");
  checkKeys(given, "", KNOWN);
  if (given.cluster_coordinator !== undefined) warnOfStaticSetting();
  const ttlMs = checkInteger(given.ttlMs ?? 5000, "ttlMs", 100, MAX_MS);
  const killMarginMs = checkInteger(given.killMarginMs ?? Math.ceil(ttlMs / 50), "killMarginMs", 1, MAX_MS);
  const stopMarginMs = given.election?.stopMarginMs ?? Math.ceil(ttlMs / 10);
  if (killMarginMs >= stopMarginMs) {
    throw new InvalidRequestError(
      "killMarginMs",
      `is ${killMarginMs} and must be less than election.stopMarginMs, which is ${stopMarginMs}`,
    );
  }
  const ms = (
    field: "takeoverDelayMs" | "electionIntervalMs" | "unfitForMs",
    byDefault: number,
    leastMs = 0,
  ) => checkInteger(given[field] ?? byDefault, field, leastMs, MAX_MS);
  const { eligible = true } = given;
  if (typeof eligible !== "boolean") throw new InvalidRequestError("eligible", "must be true or false");
  return {
    given,
    groupId: given.groupId ?? "coordinator",
    eligible,
    ttlMs,
    killMarginMs,
    takeoverDelayMs: ms("takeoverDelayMs", DEFAULT_TAKEOVER_DELAY_MS),
    electionIntervalMs: ms("electionIntervalMs", DEFAULT_ELECTION_INTERVAL_MS, MIN_ELECTION_INTERVAL_MS),
    unfitForMs: ms("unfitForMs", 10_000),
    clock: given.clock ?? systemClock,
  };
}
