import type { shapes } from "@tenure/api";
import { BackendUnavailableError, type Clock } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";
import { checkNamedOnce, batchResults } from "./batch-results.js";

type ManyOf = shapes.CampaignManyBody["campaigns"][number];

export interface CampaignManyDeps {
  readonly clock: Clock;
  readonly campaign: (each: ManyOf, signal: AbortSignal) => Promise<shapes.CampaignReply>;
  /** The caller of all of them has hung up. */
  readonly callerGone: AbortSignal | undefined;
}

/** However short a ttl among them: so much time they have in any case. */
const MIN_LIMIT_MS = 250;

/**
 * Campaigns that do not wait. A group that is slow must not hold back the rest for long, whose leases run already: it is
 * given up, which takes back what it may still win, and told as a store that does not answer.
 */
export async function campaignMany(
  { campaigns }: shapes.CampaignManyBody,
  { clock, campaign, callerGone }: CampaignManyDeps,
): Promise<shapes.CampaignManyReply> {
  checkNamedOnce("campaigns", campaigns);
  const limitMs = Math.max(MIN_LIMIT_MS, Math.min(...campaigns.map((each) => each.lease_ttl_ms)) / 4);
  // One each: a signal with a thousand listeners looks through all of them for each that comes or goes.
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
