/**
 * How a node shows that it is there: announcements and goodbyes over HTTPS, and the first announcement, by which it
 * joins.
 */
import { BackendUnavailableError, type Clock, InvalidRequestError, sleep } from "@tenure/core";
import { Announcer, type RoundResult } from "../membership/announcer.js";
import { normalizeEndpoint } from "../membership/endpoint.js";
import type { Membership } from "../membership/membership.js";
import type { Configuration } from "../protocol/messages.js";
import { MAX_MEMBERS } from "./codec.js";
import { type PeerCalls, RefusedCallError } from "./peer-calls.js";
import type { PeerLog } from "./peer-log.js";
import type { PeerMetrics } from "./peer-metrics.js";
import type { NodeOptions } from "./peer-node-options.js";
import { ANNOUNCED, LEAVE_FANOUT } from "./route.js";

export interface NodeAnnouncerParts {
  readonly options: NodeOptions;
  readonly disk: string;
  readonly clock: Clock;
  readonly calls: PeerCalls;
  readonly membership: Membership;
  readonly electorate: () => Configuration | null;
  /** The endpoint of the leader, as far as it is known. */
  readonly leader: () => string | null;
  readonly log: PeerLog;
  readonly metrics: PeerMetrics;
}

/** Endpoints are compared as text: with two spellings a server would wait for itself for ever. */
class OwnNameError extends InvalidRequestError {
  constructor(named: string, own: string) {
    super(
      "join",
      `names ${named}, which is this server itself, known to others as ${own}: write ${own} in every join list`,
    );
  }
}

const RETRY_PARTS = 5;
const WHAT = "announcing this server";

export function nodeAnnouncer(parts: NodeAnnouncerParts): Announcer {
  const { options, disk, clock, calls, membership, electorate, leader, log, metrics } = parts;
  const { identity, endpoint, join, ttlMs } = options;
  const announcement = (): object => {
    const cluster = electorate()?.cluster;
    return { self_endpoint: endpoint, disk, ttl_ms: ttlMs, ...(cluster === undefined ? {} : { cluster }) };
  };
  return new Announcer({
    self: { identity, endpoint, disk },
    join,
    intervalMs: ttlMs,
    clock,
    membership,
    electorate,
    leader,
    calls: {
      announce: async (to, signal) => {
        const headers = { [ANNOUNCED]: "1" };
        const path = "/v1/tc/cluster/announce";
        const body = announcement();
        const answer = await calls.send(to, { method: "POST", path, body, headers, signal });
        if (answer.identity === identity) throw new OwnNameError(to, endpoint);
        if (answer.status !== 200) throw new RefusedCallError(to, answer);
        log.succeeded(WHAT, to);
        return namedIn(answer.body["endpoints"]);
      },
      reach: async (to, signal) =>
        void (await calls.ask(to, { method: "GET", path: "/v1/tc/leader", signal })),
      leave: async (to, signal) => {
        const headers = { [LEAVE_FANOUT]: "1" };
        await calls.ask(to, { method: "POST", path: "/v1/tc/cluster/leave", headers, signal });
      },
    },
    onFailure: (to, cause) => {
      metrics.announceFailures.inc();
      log.failed(WHAT, to, cause);
    },
  });
}

/**
 * Rejects at the first start if the join list contains this server under another spelling than others know: without an
 * electorate it would wait for itself to found one. Also rejects if no join target could be reached within a lease
 * (servers that are started together may need a moment), unless this server is a join target itself. A server that was
 * in a cluster before may reach any of its members instead, because the old join targets may be gone.
 */
export async function joinCluster(
  announcer: Announcer,
  { options, clock, electorate }: Pick<NodeAnnouncerParts, "options" | "clock" | "electorate">,
): Promise<void> {
  const { join, endpoint, ttlMs } = options;
  const giveUpAtMs = clock.monotonicMs() + ttlMs;
  for (;;) {
    const { reached, failed } = await announcer.announce({ isStart: true });
    const isFirst = electorate() === null;
    for (const { cause } of failed) if (cause instanceof OwnNameError && isFirst) throw cause;
    if (join.includes(endpoint) || reached.some((each) => join.includes(each))) return;
    if (reached.length > 0 && electorate() !== null) return;
    if (clock.monotonicMs() >= giveUpAtMs) throw unreachable(join, failed);
    await sleep(clock, ttlMs / RETRY_PARTS);
  }
}

/** Endpoints that another server has named: at most as many as can be electors, and only those that can be called. */
export function namedIn(endpoints: unknown): readonly string[] {
  if (!Array.isArray(endpoints)) return [];
  return endpoints.slice(0, MAX_MEMBERS).flatMap((each: unknown) => {
    try {
      return typeof each === "string" ? [normalizeEndpoint(each, "endpoints")] : [];
    } catch {
      return [];
    }
  });
}

function unreachable(join: readonly string[], failed: RoundResult["failed"]): BackendUnavailableError {
  const why = failed.map(({ endpoint, cause }) => `${endpoint}: ${(cause as Error).message}`).join("; ");
  return new BackendUnavailableError(
    `none of the join targets ${join.join(", ")} took this server in (${why}); start one of them, or name this server itself to begin alone`,
  );
}
