/**
 * A waiting campaign as a sequence of short waits. A server sends nothing while a campaign waits there, so only the end
 * of a wait shows that the server is still alive. Short waits bound how long a candidate is held by a dead server.
 *
 * A server that is asked to wait for a quarter of the ttl, and has a share of half the ttl for its answer, is given up
 * after half the ttl if there are two servers, or sooner; within 2.5 s for ttls up to 5 s.
 */
import type { CampaignResult, Clock } from "@tenure/core";
import type { ParsedCampaign } from "@tenure/core/internal";

const MIN_SLICE_MS = 1000;
const MAX_SLICE_MS = 5000;
const SLICE_SHARE = 1 / 4;

export function waitSliceMs(ttlMs: number): number {
  return Math.min(Math.max(ttlMs * SLICE_SHARE, MIN_SLICE_MS), MAX_SLICE_MS);
}

/** `campaign` is called with the same request for one short wait after the other. */
export async function waitInSlices(
  clock: Clock,
  parsed: ParsedCampaign,
  campaign: (slice: ParsedCampaign) => Promise<CampaignResult>,
): Promise<CampaignResult> {
  const startedMs = clock.monotonicMs();
  const sliceMs = waitSliceMs(parsed.candidate.ttlMs);
  for (let elapsedMs = 0; ;) {
    const waitMs = Math.ceil(Math.min(sliceMs, parsed.waitMs - elapsedMs));
    const result = await campaign({ ...parsed, waitMs });
    // The caller counts its lease from before the first wait, so the time until this one is part of the wait.
    if (result.kind === "elected") {
      return { ...result, waitedMs: Math.floor(elapsedMs) + (result.waitedMs ?? 0) };
    }
    const nowElapsedMs = clock.monotonicMs() - startedMs;
    // If a server refuses to let the campaign wait, the answer is returned: the caller has its own pause for that.
    const isRefused = nowElapsedMs - elapsedMs < waitMs / 2;
    elapsedMs = nowElapsedMs;
    if (isRefused || elapsedMs > parsed.waitMs - 1) return result;
  }
}
