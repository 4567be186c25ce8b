import type { shapes } from "@tenure/api";
import { BackendUnavailableError, type Clock } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";
import { checkNamedOnce, eachAlone } from "./each-alone.js";

type ManyOf = shapes.CampaignManyBody["campaigns"][number];

export interface CampaignManyParts {
  readonly clock: Clock;
  readonly campaign: (each: ManyOf, signal: AbortSignal) => Promise<shapes.CampaignReply>;
  /** The caller of all of them has hung up. */
  readonly hangUp: AbortSignal | undefined;
}

/** However short a ttl among them: so much time they have in any case. */
const LEAST_MS = 250;

/**
 * Campaigns that do not wait. A group that is slow must not hold back the rest for long, whose leases run already: it is
 * given up, which takes back what it may still win, and told as a store that does not answer.
 */
export async function campaignMany(
  { campaigns }: shapes.CampaignManyBody,
  { clock, campaign, hangUp }: CampaignManyParts,
): Promise<shapes.CampaignManyReply> {
  checkNamedOnce("campaigns", campaigns);
  const limitMs = Math.max(LEAST_MS, Math.min(...campaigns.map((each) => each.lease_ttl_ms)) / 4);
  // One each: a signal with a thousand listeners looks through all of them for each that comes or goes.
  const endings = campaigns.map(() => new AbortController());
  const endAll = (reason: unknown) => {
    for (const ending of endings) ending.abort(reason);
  };
  const cancel = clock.after(limitMs, () =>
    endAll(new BackendUnavailableError(`no decision within ${limitMs} ms`)),
  );
  const stopListening = onAbort(hangUp, () => endAll(hangUp?.reason));
  try {
    return await eachAlone(campaigns, (each, index) =>
      campaign(each, (endings[index] as AbortController).signal),
    );
  } finally {
    cancel();
    stopListening();
  }
}
