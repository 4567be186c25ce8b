import { type Elector, sleep } from "@tenure/core";
import { within } from "@tenure/core/internal";
import type { Breaker } from "./breaker.js";
import type { ParsedElection } from "./options.js";
import { Backoff, isPermanent } from "./retry.js";

/**
 * Resigns a term that this process will never lead again, so that the next leader need not wait for the lease to
 * expire. Retries until there is an answer, or until the lease must have expired anyway. True if there was an answer.
 * It passes through the breaker: a thousand leases that expire because the elector does not answer must not become a
 * thousand requests when it answers again.
 */
export async function giveBack(
  elector: Elector,
  breaker: Breaker,
  options: ParsedElection,
  { instanceId, term }: { readonly instanceId: string; readonly term: number },
  failed: (error: unknown) => void,
): Promise<boolean> {
  const { groupId, nodeId, ttlMs, clock, connectionTimeoutMs, retry, random } = options;
  const backoff = new Backoff(retry, random);
  const overAtMs = clock.monotonicMs() + ttlMs;
  const untilAnswered = new AbortController().signal;
  for (let leftMs = ttlMs; leftMs > 0; leftMs = overAtMs - clock.monotonicMs()) {
    const admitted = within(clock, { limitMs: leftMs, signal: untilAnswered }, (signal) =>
      breaker.admit(signal),
    );
    const done = await admitted.catch(() => null);
    if (done === null) return false;
    try {
      await within(clock, { limitMs: connectionTimeoutMs, signal: untilAnswered }, (signal) =>
        elector.resign({ groupId, nodeId, instanceId, term }, { signal }),
      );
      done("answered");
      return true;
    } catch (error) {
      done(isPermanent(error) ? "answered" : "failed");
      failed(error);
      if (isPermanent(error)) return false;
      await sleep(clock, Math.min(backoff.next(error), ttlMs / 4));
    }
  }
  return false;
}
