import type { Clock, Metadata } from "@tenure/core";
import type { Breaker } from "./breaker.js";
import type { HealthChecker } from "./health.js";
import type { LeaseRenewerFactory } from "./lease-renewer.js";
import type { PreparationOptions } from "./preparation.js";
import type { ElectionMetrics, Logger, Tracer } from "./telemetry.js";

/**
 * How long to wait after a failure before the next attempt: exponential backoff with jitter. It applies to campaigns, to
 * renewals between two heartbeats, to `prepare`, and to how long a process stays out of the contest after its leadership
 * failed.
 */
export interface RetryOptions {
  /**
   * Campaigns in a row that may fail before the election ends with `AttemptsExhaustedError`. A lost campaign is not a
   * failure. A low number makes the process give up during a short outage of the elector.
   *
   * @defaultValue 0: never give up
   */
  readonly maxAttempts?: number | undefined;
  /**
   * The wait after the first failure, in milliseconds, from 1 to 3,600,000. Very small values load an elector that is
   * failing.
   *
   * @defaultValue 100
   */
  readonly initialBackoffMs?: number | undefined;
  /**
   * The longest wait, in milliseconds; not less than `initialBackoffMs`. After an outage, candidates may be back this much
   * later. A refusal that only a person can change (an unknown group, missing rights) ends the election if it answers the
   * first campaign; later it is retried at this interval.
   *
   * @defaultValue 5000, or `initialBackoffMs` if that is more
   */
  readonly maxBackoffMs?: number | undefined;
  /**
   * The factor between one wait and the next, from 1 to 100. With 1 every wait is `initialBackoffMs`.
   *
   * @defaultValue 2
   */
  readonly multiplier?: number | undefined;
  /**
   * The share of each wait that is random: 1 draws the whole wait, from 0 up; 0 draws nothing. With 0, processes that
   * failed together retry together.
   *
   * @defaultValue 1
   */
  readonly jitter?: number | undefined;
}

/** Additional checks of the leader's own term against the store. The lease alone already keeps two leaders apart. */
export interface FencingOptions {
  /**
   * While leading, how often the store is asked whether this term still leads, in milliseconds. If the store names another
   * leader, the process steps down with reason `token-invalid`. An error or a timeout changes nothing. Each check is a
   * linearizable read.
   *
   * @defaultValue 0: never
   */
  readonly validationIntervalMs?: number | undefined;
  /**
   * Whether `assertLeader()` also asks the store. It then takes a round trip, and rejects while the store does not answer.
   *
   * @defaultValue false
   */
  readonly validateOnCriticalOps?: boolean | undefined;
  /**
   * Whether a confirmation by the store counts for `validationIntervalMs`, so that checks within that time do not ask
   * again. Needs `validationIntervalMs` above 0.
   *
   * @defaultValue false
   */
  readonly cacheToken?: boolean | undefined;
}

/**
 * Options of `new Election(elector, options)`. Unknown keys and values out of bounds are refused with
 * `InvalidRequestError`.
 */
export interface ElectionOptions extends PreparationOptions {
  /** The group whose leader is elected: 1 to 200 characters of `A-Z a-z 0-9 . _ : / -`. */
  readonly groupId: string;
  /**
   * The name of this process among the candidates: 1 to 200 characters of `A-Z a-z 0-9 . _ : / -`. Two processes under one
   * name are still two candidates, since each start has its own instance id, but people cannot distinguish them.
   *
   * @defaultValue the host name and a random suffix, the same for all elections of the process
   */
  readonly nodeId?: string | undefined;
  /**
   * How long a lease lasts without a renewal, in milliseconds: a crashed leader blocks the group for this time. From 100 to
   * 86,400,000; the elector refuses a value outside the group's policy (500 to 60,000 by default).
   *
   * Too small: a garbage collection, a slow store or a lost connection of a fraction of a second costs the leadership, and
   * renewals load the elector. Too large: failover after a crash takes that long. A leader that stops in an orderly way
   * resigns, whatever the ttl.
   *
   * @defaultValue 5000
   */
  readonly ttlMs?: number | undefined;
  /**
   * How often a leader renews, in milliseconds. At most a third of `ttlMs`, so that two renewals may be lost. Small values
   * detect problems earlier and cost a write in the store each; large values leave fewer tries before the lease ends.
   *
   * @defaultValue `ttlMs / 5`, at most one hour
   */
  readonly heartbeatIntervalMs?: number | undefined;
  /**
   * The priority of this candidate, from -1,000,000 to 1,000,000. It counts only if the group's policy has strategy
   * `priority`: then the highest waiting candidate wins a vacancy.
   *
   * @defaultValue 0
   */
  readonly priority?: number | undefined;
  /**
   * `true`: before its first campaign this process sets the group's policy to strategy `priority` with `preempt`, so that a
   * waiting candidate of higher priority takes over from a leader of lower priority. This needs the rights of an operator,
   * and changes the policy for all candidates.
   *
   * @defaultValue false
   */
  readonly priorityTakeover?: boolean | undefined;
  /**
   * Information shown with the leader to every reader, such as an address or a version: a JSON object of at most 4 KiB. It
   * is checked when the election is created; a value that JSON cannot hold is refused with its path. `update()` changes it.
   *
   * @defaultValue none
   */
  readonly metadata?: Metadata | undefined;
  /**
   * Timeout of one request to the elector, in milliseconds; less than `heartbeatIntervalMs`. A renewal that is not answered
   * in time counts as failed; its answer still counts if it arrives within `ttlMs / 3`, and the next heartbeat sends
   * another one. Reads give up after this timeout. A campaign gives up after `ttlMs / 2` beyond its wait, or after this
   * timeout if that is longer.
   *
   * Too small: a slow network counts as failures. It cannot be set too large, because `heartbeatIntervalMs` bounds it.
   *
   * @defaultValue three quarters of `heartbeatIntervalMs`
   */
  readonly connectionTimeoutMs?: number | undefined;
  /**
   * Step down if no renewal was answered for this time, in milliseconds, counted from the sending of the last answered
   * renewal, even if the lease still runs. Less than `ttlMs`, and at least `heartbeatIntervalMs + connectionTimeoutMs`; a
   * smaller value would end the leadership although every renewal is answered. For work that must stop early when the
   * elector cannot be reached.
   *
   * @defaultValue none: the process leads until its lease ends
   */
  readonly disconnectGracePeriodMs?: number | undefined;
  /**
   * Step down after this number of failed heartbeats in a row, at least 1. With 1, a single lost renewal ends the leadership.
   *
   * @defaultValue none: the process leads until its lease ends
   */
  readonly maxConsecutiveFailures?: number | undefined;
  /** Additional checks of the leader's term against the store. @defaultValue none */
  readonly fencing?: FencingOptions | undefined;
  /**
   * Returns whether this process is fit to lead. It is called before each campaign, at each heartbeat interval while a
   * campaign waits, and before each heartbeat while leading. An unhealthy process does not campaign, and steps down if it
   * leads (see `maxHealthFailures`). A checker that throws, or that does not answer within `healthTimeoutMs`, counts as
   * unhealthy.
   *
   * @defaultValue none: the process is always fit
   */
  readonly healthChecker?: HealthChecker | undefined;
  /**
   * How long one health check may take, in milliseconds; less than `heartbeatIntervalMs`, because a renewal waits for the
   * check. Too small: a busy but healthy process gives the leadership up.
   *
   * @defaultValue three quarters of `heartbeatIntervalMs`
   */
  readonly healthTimeoutMs?: number | undefined;
  /**
   * Failed checks in a row after which the process counts as unhealthy, at least 1. One good check makes it healthy again.
   *
   * @defaultValue 1
   */
  readonly maxHealthFailures?: number | undefined;
  /** Backoff after failures. @defaultValue 100 ms to 5 s, doubling, fully random */
  readonly retry?: RetryOptions | undefined;
  /**
   * What happens if `onPromote` rejects before its signal aborts. "resign": the leadership is given up with reason
   * `promote-failed`, and this process campaigns again after a backoff (see `retry`). "keep": the failure is reported, and
   * the process keeps the leadership without work.
   *
   * @defaultValue "resign"
   */
  readonly onPromoteFailure?: "resign" | "keep" | undefined;
  /**
   * Whether `stop()` resigns after the work has ended, so that the next leader takes over at once. `false`: the lease
   * expires by itself, which leaves the group without a leader for up to `ttlMs`.
   *
   * @defaultValue true
   */
  readonly deleteOnStop?: boolean | undefined;
  /**
   * After another leader's lease expires, wait this long before campaigning, in milliseconds, so that the old leader can
   * return; up to 3,600,000. It does not apply after a resignation. A crash then leaves the group without a leader for this
   * much longer. With a value above 0, candidates do not wait in the elector's queue but campaign when the watch shows a
   * vacancy. Give all candidates of a group the same value.
   *
   * @defaultValue 0: campaign at once
   */
  readonly takeoverDelayMs?: number | undefined;
  /**
   * How long one campaign waits in the elector's queue, in milliseconds, up to 60,000. 0: do not wait; campaign when the
   * watch shows a vacancy, which costs no open request per candidate but makes takeover slower. A wait is never longer than
   * `ttlMs / (8 · driftRatio)`: the clocks of both sides disagree about a long wait, and the first lease is shorter by that
   * error.
   *
   * @defaultValue 30,000
   */
  readonly campaignWaitMs?: number | undefined;
  /**
   * How long before the deadline the work's signal aborts if no renewal succeeds, in milliseconds: the time that the work
   * has to stop. At most half of `ttlMs`, and what is left of the lease must hold a heartbeat and its timeout. Too small:
   * work that needs longer still runs when another node leads. Too large: a short loss of connection ends the leadership.
   *
   * @defaultValue `ttlMs / 10`
   */
  readonly stopMarginMs?: number | undefined;
  /** Where log lines go. pino fits as it is. @defaultValue none: nothing is logged */
  readonly logger?: Logger | undefined;
  /** Where metrics go; `prometheusMetrics` creates one. @defaultValue none */
  readonly metrics?: ElectionMetrics | undefined;
  /** Where traces go. A `Tracer` of OpenTelemetry fits as it is. @defaultValue none */
  readonly tracer?: Tracer | undefined;
  /**
   * The circuit breaker for campaigns and resignations. Elections that share one send a failing elector no more requests
   * than a single election would. Renewals do not pass through it.
   *
   * @defaultValue one for all elections over the same elector: opens after 5 failures in a row, for 1 s
   */
  readonly breaker?: Breaker | undefined;
  /**
   * What sends the renewals. `workerRenewer` renews on a separate thread, so that a blocked event loop does not cost the
   * lease.
   *
   * @defaultValue the event loop of this process
   */
  readonly renewer?: LeaseRenewerFactory | undefined;
  /**
   * The largest rate error of any clock that takes part, from 0 to 0.2; the leader stops acting after `ttlMs · (1 −
   * driftRatio)`. It must be the same in all clients and electors. Too small: two leaders may act at the same time. Too
   * large: leases are used for a shorter time.
   *
   * @defaultValue 0.01
   */
  readonly driftRatio?: number | undefined;
  /** The source of time, for tests. @defaultValue `systemClock` */
  readonly clock?: Clock | undefined;
  /** Returns a number from 0 to 1 (exclusive), for backoff and jitter; for tests. @defaultValue `Math.random` */
  readonly random?: (() => number) | undefined;
  /**
   * Returns the instance id of each run and the correlation id of each leadership. It must never return the same id twice:
   * the elector gives a lease back to the instance that won it.
   *
   * @defaultValue `randomUUID`
   */
  readonly newId?: (() => string) | undefined;
}

/** How `stop` ends an election. */
export interface StopOptions {
  /**
   * Whether to resign when the work has ended.
   *
   * @defaultValue the option `deleteOnStop`
   */
  readonly resign?: boolean;
  /**
   * Whether `stop()` waits until the work and `onDemote` have ended.
   *
   * @defaultValue true
   */
  readonly waitForDemote?: boolean;
  /**
   * Reject with `StopTimeoutError` after this time, in milliseconds, and stop renewing. The work may still run.
   *
   * @defaultValue none: wait until the work has ended
   */
  readonly timeoutMs?: number;
}

/** Options of everything in an election that waits. */
export interface WaitOptions {
  /** Ends the wait, which then rejects with the signal's reason. @defaultValue none: the wait ends only by itself */
  readonly signal?: AbortSignal | undefined;
}

/** What can be changed without a restart. */
export interface ElectionUpdate {
  /** Replaces the metadata shown with the leader: a JSON object of at most 4 KiB. */
  readonly metadata: Metadata | undefined;
}
