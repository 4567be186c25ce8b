/**
 * What a ttl means: how long a group has no leader, which failures a leader survives, and what the elections cost. Every time and
 * share is the product's own, imported from where it is used; what depends on the network is given.
 *
 * "Best" and "worst" hold for a group whose candidate waits all the time, on clocks that keep to `driftRatio`, while no second
 * failure happens. They are bounds, checked against real elections in virtual time (`predict.test.ts`).
 */
import { DEFAULT_DRIFT_RATIO } from "@tenure/core";
import { callLimitMs, holdMs, leadMs, LIMITS, SIGN_PERIOD_MS } from "@tenure/core/internal";
import {
  parseElection,
  parseHttpOptions,
  RENEWAL_ANSWER_SHARE,
  renewalLimitMs,
  waitSliceMs,
} from "@tenure/client/parts";
import { batchCost } from "@tenure/server/parts";

export interface PlanInput {
  readonly ttlMs: number;
  /** From a node to a server and back; without servers from a node to the store. */
  readonly rttMs: number;
  /** One write to the store, as a server sees it; without servers what it takes in addition to the round trip. */
  readonly writeMs: number;
  readonly groups: number;
  /** Processes; each of them is a candidate for every group. */
  readonly nodes: number;
  /** Servers of the service; 0: the nodes use the store directly. */
  readonly servers: number;
  /** The delay of the group's policy after a lease has expired. */
  readonly takeoverDelayMs: number;
}

export interface Span {
  readonly bestMs: number;
  readonly typicalMs: number;
  readonly worstMs: number;
}

export interface Survived {
  /** Every failure up to this length, whenever it begins. */
  readonly alwaysMs: number;
  /** No failure longer than this. */
  readonly neverMs: number;
}

export interface Plan {
  readonly times: {
    readonly heartbeatIntervalMs: number;
    readonly connectionTimeoutMs: number;
    readonly stopMarginMs: number;
    /** How long a leader may act after a renewal, counted from when it was sent. */
    readonly leadMs: number;
    /** How long the elector keeps the lease. */
    readonly holdMs: number;
    /** From the sending of a renewal to its answer. */
    readonly answerMs: number;
    /** An answer that takes longer does not count. */
    readonly answerLimitMs: number;
    readonly storeWriteMs: number;
    /** A write to the store that takes longer counts as failed. */
    readonly storeWriteLimitMs: number;
  };
  /** From the crash of a leader, or from its `stop()`, to the next leader. */
  readonly crash: Span;
  readonly stop: Span;
  /** Of the leader's process; of the network or the store. */
  readonly pause: Survived;
  readonly outage: Survived;
  readonly load: {
    readonly renewalsPerSecond: number;
    /** Renewals of one process are sent in one request. */
    readonly renewalRequestsPerSecond: number;
    readonly waitingRequestsPerSecond: number;
    readonly waitingCampaigns: number;
    readonly watches: number;
    /** Records that are written; `storeWritesPerSecond` counts the batches that contain them. */
    readonly storeRecordsPerSecond: number;
    readonly storeWritesPerSecond: number;
    /** What one node's requests cost each second, as the rate limit counts them. */
    readonly costPerNodePerSecond: number;
  };
}

export function predict(input: PlanInput): Plan {
  const times = timesOf(input);
  return {
    times,
    crash: crashOf(input, times),
    stop: stopOf(input, times),
    ...survivedOf(input, times),
    load: loadOf(input, times),
  };
}

function timesOf({ ttlMs, rttMs, writeMs, servers }: PlanInput): Plan["times"] {
  const { heartbeatIntervalMs, connectionTimeoutMs, stopMarginMs, driftRatio } = parseElection({
    groupId: "plan",
    nodeId: "plan",
    ttlMs,
  });
  const { batchWindowMs, requestTimeoutMs } = parseHttpOptions({ endpoints: ["http://plan"] });
  const isDirect = servers === 0;
  const storeWriteMs = isDirect ? rttMs + writeMs : writeMs;
  return {
    heartbeatIntervalMs,
    connectionTimeoutMs,
    stopMarginMs,
    leadMs: leadMs(ttlMs, driftRatio),
    holdMs: holdMs(ttlMs, driftRatio),
    answerMs: isDirect ? storeWriteMs : batchWindowMs + rttMs + storeWriteMs,
    // The servers that may be asked share the time of one renewal.
    answerLimitMs: isDirect
      ? ttlMs * RENEWAL_ANSWER_SHARE
      : Math.min(ttlMs * RENEWAL_ANSWER_SHARE, renewalLimitMs(ttlMs, requestTimeoutMs) / servers),
    storeWriteMs,
    storeWriteLimitMs: callLimitMs(ttlMs),
  };
}

/**
 * The lease counts from the last renewal, and the crash comes up to a heartbeat after that. Then the server grants the group to a
 * waiting candidate in the write that ends the lease. At worst another server has to learn of the renewal first, and the next
 * leader's campaign arrives just after the end of the lease, so that the vacancy is written before the win.
 */
function crashOf({ takeoverDelayMs, servers, rttMs }: PlanInput, times: Plan["times"]): Span {
  const { heartbeatIntervalMs, answerMs, storeWriteMs } = times;
  const networkMs = servers === 0 ? 0 : rttMs;
  // The delay begins with the write that records the end of the lease.
  const delayMs = takeoverDelayMs === 0 ? 0 : takeoverDelayMs + storeWriteMs;
  const heldMs = times.holdMs + delayMs;
  return {
    bestMs: heldMs / (1 + DEFAULT_DRIFT_RATIO) - heartbeatIntervalMs + networkMs + storeWriteMs,
    typicalMs: heldMs - heartbeatIntervalMs / 2 + answerMs,
    worstMs: heldMs / (1 - DEFAULT_DRIFT_RATIO) + answerMs + networkMs + 2 * storeWriteMs + TICK_MS,
  };
}

/** Timers of both sides may be late by this each. */
const TICK_MS = 2;

/**
 * The server grants the group to a waiting candidate in the write of the resignation. At worst a renewal is being written, the
 * candidate waits at another server, and its campaign arrives just after the resignation.
 */
function stopOf({ servers, rttMs }: PlanInput, { storeWriteMs }: Plan["times"]): Span {
  const networkMs = servers === 0 ? 0 : rttMs;
  const bestMs = networkMs + storeWriteMs;
  return { bestMs, typicalMs: bestMs, worstMs: 2 * networkMs + 4 * storeWriteMs + TICK_MS };
}

/**
 * A leader acts until `leadMs` less `stopMarginMs` after it sent the last renewal that was answered. At worst a failure begins when
 * the next renewal was due or not answered yet, and after its end another one has to be answered. After an outage it is sent with the
 * next heartbeat; a server that waited for a lost write meanwhile tries again after its limit.
 */
function survivedOf(_: PlanInput, times: Plan["times"]): Pick<Plan, "pause" | "outage"> {
  const { heartbeatIntervalMs, answerMs, storeWriteMs, storeWriteLimitMs } = times;
  const actsMs = times.leadMs - times.stopMarginMs;
  const retryMs = Math.max(heartbeatIntervalMs, storeWriteLimitMs + storeWriteMs);
  return {
    pause: {
      alwaysMs: atLeastNone(actsMs - heartbeatIntervalMs - answerMs - TICK_MS),
      neverMs: atLeastNone(actsMs - Math.min(answerMs, heartbeatIntervalMs) + TICK_MS),
    },
    outage: {
      alwaysMs: atLeastNone(actsMs - heartbeatIntervalMs - retryMs - 2 * answerMs - TICK_MS),
      neverMs: atLeastNone(actsMs - Math.min(answerMs, heartbeatIntervalMs) + TICK_MS),
    },
  };
}

function atLeastNone(ms: number): number {
  return Math.max(0, ms);
}

function loadOf(input: PlanInput, times: Plan["times"]): Plan["load"] {
  const { ttlMs, rttMs, groups, nodes, servers } = input;
  const heartbeatsPerSecond = 1000 / times.heartbeatIntervalMs;
  const leaders = Math.min(groups, nodes);
  const ledByOne = Math.ceil(groups / leaders);
  const renewalsPerSecond = groups * heartbeatsPerSecond;
  const batchesByOne = Math.ceil(ledByOne / LIMITS.renewMany) * heartbeatsPerSecond;
  const hasService = servers > 0;
  const slicesPerSecond = hasService ? 1000 / (waitSliceMs(ttlMs) + rttMs) : 0;
  // Each server writes the members that it has seen itself.
  const memberPages = hasService ? (groups * Math.min(servers, nodes) * 1000) / SIGN_PERIOD_MS : 0;
  const renewalCost =
    ledByOne === 1 ? heartbeatsPerSecond : batchesByOne + batchCost(ledByOne) * heartbeatsPerSecond;
  return {
    renewalsPerSecond,
    renewalRequestsPerSecond: hasService ? leaders * batchesByOne : 0,
    waitingRequestsPerSecond: groups * (nodes - 1) * slicesPerSecond,
    waitingCampaigns: groups * (nodes - 1),
    watches: groups * nodes,
    storeRecordsPerSecond: renewalsPerSecond + memberPages,
    storeWritesPerSecond: leaders * batchesByOne + memberPages,
    costPerNodePerSecond: hasService ? renewalCost + (groups - ledByOne) * slicesPerSecond : 0,
  };
}
