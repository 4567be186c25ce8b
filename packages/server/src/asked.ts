import type { ResponseOptions, UnaryVerb } from "@tenure/api";
import type { ReplyOf, RequestOf } from "@tenure/api/schemas";
import type { Caller } from "./auth/caller.js";

/** A request of one verb, independent of the transport. */
export interface Asked<Input = unknown> {
  readonly caller: Caller;
  /** The group in the path; empty if the path has none. */
  readonly groupId: string;
  /** The rest of the request, in the shape of the verb's schema. */
  readonly input: Input;
  /** Charges the rate limit of the caller with what the request costs beyond one request. */
  readonly charge: (cost: number) => void;
  /** Aborted when the caller disconnects. Only set for verbs that end with their caller. */
  readonly signal: AbortSignal | undefined;
  /** What the response contains, as the caller prefers. */
  readonly response: ResponseOptions;
}

export type AskedFor<V extends UnaryVerb> = Asked<RequestOf<V>>;

/** All verbs with one answer. If the service lacks a verb of the table, it does not compile. */
export type VerbService = { readonly [V in UnaryVerb]: (asked: AskedFor<V>) => Promise<ReplyOf<V>> };
