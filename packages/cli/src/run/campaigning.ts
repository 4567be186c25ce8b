import type { Election, ElectionEvent, LeaseTime, Mandate } from "@tenure/client";
import { onAbort } from "@tenure/core/internal";

export interface CampaigningOptions {
  readonly election: Election;
  /** Called each time this node leads. If it rejects, the election is stopped and this is the error. */
  readonly lead: (mandate: Mandate, losing: AbortSignal, lease: LeaseTime) => Promise<void>;
  /** The first campaign was answered, or could not be sent. */
  readonly started?: () => void;
  readonly notice: (event: ElectionEvent) => void;
  /** Every refusal of the first campaign ends it, also one that a retry may heal. */
  readonly acceptsNoRefusal: boolean;
}

/**
 * Campaigns until `signal` aborts or the election is stopped.
 *
 * Until a campaign was accepted, a refusal that a retry cannot heal ends it with that error: the options or credentials are wrong, or
 * the group is not prepared. Later an operator has changed the group, and may change it back: then this node keeps trying.
 */
export async function campaignUntilStopped(
  { election, lead, started, notice, acceptsNoRefusal }: CampaigningOptions,
  signal: AbortSignal,
): Promise<void> {
  /** A campaign of this process was won or lost: the service knows this node, and its options are allowed. */
  let isAccepted = false;
  const failures: unknown[] = [];
  const refusals: unknown[] = [];
  const stop = () => void election.stop();
  election.onPromote((mandate, losing, lease) =>
    lead(mandate, losing, lease).catch((error: unknown) => {
      failures.push(error);
      stop();
    }),
  );
  const stopListening = onAbort(signal, stop);
  try {
    const events = election.changes();
    await election.start();
    if (signal.aborted) stop();
    started?.();
    for await (const event of events) {
      if (event.kind === "failed") throw event.error;
      if (event.kind === "promoted" || event.kind === "campaign-lost") isAccepted = true;
      const isRefused = event.kind === "request-failed" && event.request === "campaign" && !isAccepted;
      if (isRefused && (acceptsNoRefusal || event.permanent)) {
        refusals.push(event.error);
        stop();
      } else notice(event);
    }
    const errors = signal.aborted ? failures : [...failures, ...refusals];
    if (errors.length > 0) throw errors[0];
  } finally {
    stopListening();
    await election.stop();
  }
}
