import type { shapes } from "@tenure/api";
import { BackendUnavailableError, type Clock } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";
import { checkNamedOnce, batchResults } from "./batch-results.js";

type ManyOf = shapes.CampaignManyBody["campaigns"][number];

export interface CampaignManyDeps {
  readonly clock: Clock;
  readonly campaign: (each: ManyOf, signal: AbortSignal) => Promise<shapes.CampaignReply>;
  /** Aborted when the caller disconnects. */
  readonly callerGone: AbortSignal | undefined;
}

/** The least time that campaigns have, however short the shortest ttl is. */
const MIN_LIMIT_MS = 250;

/**
 * Campaigns for several groups that do not wait. One slow group must not delay the answer for the rest, whose leases already run: after
 * a quarter of the shortest ttl its campaign is aborted, which releases a lease that it may still win, and its result is
 * `BACKEND_UNAVAILABLE`.
 */
export async function campaignMany(
  { campaigns }: shapes.CampaignManyBody,
  { clock, campaign, callerGone }: CampaignManyDeps,
): Promise<shapes.CampaignManyReply> {
  checkNamedOnce("campaigns", campaigns);
  const limitMs = Math.max(MIN_LIMIT_MS, Math.min(...campaigns.map((each) => each.lease_ttl_ms)) / 4);
  // One controller for each: adding or removing a listener of a signal with a thousand listeners searches all of them.
  const endings = campaigns.map(() => new AbortController());
  const endAll = (reason: unknown) => {
    for (const ending of endings) ending.abort(reason);
  };
  const cancel = clock.after(limitMs, () =>
    endAll(new BackendUnavailableError(`no decision within ${limitMs} ms`)),
  );
  const stopListening = onAbort(callerGone, () => endAll(callerGone?.reason));
  try {
    return await batchResults(campaigns, (each, index) =>
      campaign(each, (endings[index] as AbortController).signal),
    );
  } finally {
    cancel();
    stopListening();
  }
}
