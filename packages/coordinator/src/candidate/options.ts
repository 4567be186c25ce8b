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

/**
 * Options of `new CoordinatorCandidate(options)`. Unknown keys and values out of bounds are refused with
 * `InvalidRequestError`.
 */
export interface CoordinatorOptions {
  /** Where the coordinator is elected. The candidate does not close it. */
  readonly elector: Elector;
  /** The name of this node among the candidates: 1 to 200 characters of `A-Z a-z 0-9 . _ : / -`. */
  readonly nodeId: string;
  /**
   * The group of the election; the same on all nodes.
   *
   * @defaultValue `coordinator`
   */
  readonly groupId?: string;
  /**
   * Whether this node may coordinate at all. `false`: it never campaigns.
   *
   * @defaultValue true
   */
  readonly eligible?: boolean;
  /** The children that run only on the coordinator, in the order of their start. */
  readonly children: readonly ChildSpec[];
  /**
   * Which children are restarted when one ends.
   *
   * @defaultValue `one_for_one`: only that one
   */
  readonly strategy?: Strategy;
  /**
   * How often children may be restarted before this node gives the leadership to a healthier one. Too small: a short
   * failure moves the coordinator. Too large: a node that cannot run the children keeps the leadership.
   *
   * @defaultValue 3 restarts within 5000 ms
   */
  readonly intensity?: RestartLimitOptions;
  /**
   * How often the candidate itself may be restarted before it has failed permanently.
   *
   * @defaultValue 3 restarts within 5000 ms
   */
  readonly candidateIntensity?: RestartLimitOptions;
  /**
   * How long this node does not campaign after its children could not be kept alive, in milliseconds, from 0 to 3,600,000.
   * Too small: the same node may win again before another one does. Too large: a single node leaves the group without a
   * coordinator for that time.
   *
   * @defaultValue 10,000
   */
  readonly unfitForMs?: number;
  /**
   * How long a lease lasts without a renewal, in milliseconds, from 100 to 3,600,000: a crashed coordinator blocks the
   * group for this time and `takeoverDelayMs`. See `ElectionOptions.ttlMs`.
   *
   * @defaultValue 5000
   */
  readonly ttlMs?: number;
  /**
   * How long the other nodes wait after a coordinator's lease expired, so that it can return, in milliseconds, from 0 to
   * 3,600,000. A failover takes this much longer. See `ElectionOptions.takeoverDelayMs`.
   *
   * @defaultValue 1000
   */
  readonly takeoverDelayMs?: number;
  /**
   * How often a standby asks who coordinates and sends a heartbeat, in milliseconds, from 100 to 3,600,000. Small values
   * load the elector; with large ones a standby whose watch has failed silently notices a vacancy late.
   *
   * @defaultValue 5000
   */
  readonly electionIntervalMs?: number;
  /**
   * How long before the end of the lease the remaining children are killed, in milliseconds; less than
   * `election.stopMarginMs`, at which they are asked to end. Too small: a busy machine may kill them too late. Too large:
   * children have less time to end.
   *
   * @defaultValue `ttlMs / 50`
   */
  readonly killMarginMs?: number;
  /**
   * Called with the ids of in-process children that ignore their signal, when their time to end has passed or the lease is
   * about to end. If it returns while they still run, they may act at the same time as the next coordinator's children.
   *
   * @defaultValue names them on stderr and ends the process with exit code 70
   */
  readonly onStuck?: ((ids: readonly string[]) => void) | undefined;
  /**
   * The logger of the coordinator and, unless `election.logger` is given, of its `Election`. An object that lacks one of
   * `debug`, `info`, `warn` and `error` is refused; a logger that throws is ignored.
   *
   * @defaultValue warnings and errors of the coordinator, such as crashes of children, on stderr; nothing of the election
   */
  readonly logger?: Logger | undefined;
  /** Further options of the `Election`, such as health checks, metrics or its own logger. @defaultValue none */
  readonly election?: Omit<
    Partial<ElectionOptions>,
    "groupId" | "nodeId" | "ttlMs" | "takeoverDelayMs" | "clock"
  >;
  /** Accepted from older configurations and ignored with a warning: the coordinator is elected. @defaultValue none */
  readonly cluster_coordinator?: unknown;
  /** The source of time, for tests. @defaultValue `systemClock` */
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
