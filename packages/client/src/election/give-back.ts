import { type Elector, sleep } from "@tenure/core";
import { callWithin } from "./call-within.js";
import type { ParsedElection } from "./options.js";
import { Backoff, isPermanent } from "./retry.js";

/**
 * Resigns a term that this process will never lead again, so that the next leader need not wait for its lease to end. Tries
 * until there is an answer, or until the lease must be over anyway. True if there was one.
 */
export async function giveBack(
  elector: Elector,
  options: ParsedElection,
  { instanceId, term }: { readonly instanceId: string; readonly term: number },
  failed: (error: unknown) => void,
): Promise<boolean> {
  const { groupId, nodeId, ttlMs, clock, connectionTimeoutMs, retry, random } = options;
  const backoff = new Backoff(retry, random);
  const overAtMs = clock.monotonicMs() + ttlMs;
  const untilAnswered = new AbortController().signal;
  while (clock.monotonicMs() < overAtMs) {
    try {
      await callWithin(clock, connectionTimeoutMs, untilAnswered, (signal) =>
        elector.resign({ groupId, nodeId, instanceId, term }, { signal }),
      );
      return true;
    } catch (error) {
      failed(error);
      if (isPermanent(error)) return false;
      await sleep(clock, Math.min(backoff.next(error), ttlMs / 4));
    }
  }
  return false;
}
