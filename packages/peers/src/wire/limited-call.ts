import type { Clock } from "@tenure/core";
import type { Call, CallAnswer, PeerCalls } from "./peer-calls.js";

/** Of a call whose receiver may have to ask everybody in turn: so many leases. */
export const CALL_LEASES = 4;

export function limitedCall(
  clock: Clock,
  limitMs: number,
  calls: PeerCalls,
  to: string,
  call: Call,
): Promise<CallAnswer> {
  const limit = new AbortController();
  const cancel = clock.after(limitMs, () => limit.abort(new Error(`no answer within ${limitMs} ms`)));
  const signal = call.signal === undefined ? limit.signal : AbortSignal.any([limit.signal, call.signal]);
  return calls.send(to, { ...call, signal }).finally(cancel);
}
