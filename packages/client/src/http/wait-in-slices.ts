/**
 * A campaign that waits, as a row of short waits. A server says nothing while a campaign waits there, so nothing but the end of a wait
 * shows that it is still there: short waits bound for how long a candidate is held by one that is not.
 *
 * A server that is asked to wait for a quarter of the ttl and has a share of half the ttl for its answer is given up after half the
 * ttl where there are two, or sooner; within 2.5 s for ttls up to 5 s.
 */
import type { CampaignResult, Clock } from "@tenure/core";
import type { ParsedCampaign } from "@tenure/core/internal";

const MIN_SLICE_MS = 1000;
const MAX_SLICE_MS = 5000;
const SLICE_SHARE = 1 / 4;

/** `campaign` is called with the same request and one short wait after the other. */
export async function waitInSlices(
  clock: Clock,
  parsed: ParsedCampaign,
  campaign: (slice: ParsedCampaign) => Promise<CampaignResult>,
): Promise<CampaignResult> {
  const startedMs = clock.monotonicMs();
  const sliceMs = Math.min(Math.max(parsed.candidate.ttlMs * SLICE_SHARE, MIN_SLICE_MS), MAX_SLICE_MS);
  for (let elapsedMs = 0; ;) {
    const waitMs = Math.ceil(Math.min(sliceMs, parsed.waitMs - elapsedMs));
    const result = await campaign({ ...parsed, waitMs });
    // The caller counts its lease from before the first of them: what has passed until this one is part of the wait.
    if (result.kind === "elected") {
      return { ...result, waitedMs: Math.floor(elapsedMs) + (result.waitedMs ?? 0) };
    }
    const nowElapsedMs = clock.monotonicMs() - startedMs;
    // A server that would not let it wait has its reasons; the caller has its own pause for that.
    const isRefused = nowElapsedMs - elapsedMs < waitMs / 2;
    elapsedMs = nowElapsedMs;
    if (isRefused || elapsedMs > parsed.waitMs - 1) return result;
  }
}
