/** How long the calls of an election may take over HTTP, as shares of the ttl. */
import { TTL_BOUNDS_MS } from "@tenure/core";

/** A third of the ttl leaves time for two more tries before the lease ends. */
const RENEWAL_SHARE = 1 / 3;
/**
 * A lease won later than this would have too little left. An `Election` gives a campaign up after half the ttl; this limit is
 * slightly shorter, so that another server is asked in time.
 */
const CAMPAIGN_SHARE = 0.45;

/** All servers that are asked for one renewal share this time. */
export function renewalLimitMs(ttlMs: number, requestTimeoutMs: number): number {
  return withinMs(ttlMs, requestTimeoutMs, RENEWAL_SHARE);
}

/** All servers that are asked for one campaign share this time, in addition to its wait. */
export function campaignLimitMs(ttlMs: number, requestTimeoutMs: number): number {
  return withinMs(ttlMs, requestTimeoutMs, CAMPAIGN_SHARE);
}

/** A ttl that no policy admits is refused by the service, which may take its time for that. */
function withinMs(ttlMs: number, requestTimeoutMs: number, share: number): number {
  return ttlMs < TTL_BOUNDS_MS.min ? requestTimeoutMs : Math.min(requestTimeoutMs, Math.floor(ttlMs * share));
}
