import type { ResponseOptions, UnaryVerb } from "@tenure/api";
import type { ReplyOf, RequestOf } from "@tenure/api/schemas";
import type { Caller } from "./auth/caller.js";

/** A request of one verb, whatever the transport. */
export interface Asked<Input = unknown> {
  readonly caller: Caller;
  /** The group that the path names; empty where it names none. */
  readonly groupId: string;
  /** What is asked besides, as the schema of the verb has it. */
  readonly input: Input;
  /** Takes what the request costs beyond one request, from the rate limit of the caller. */
  readonly charge: (cost: number) => void;
  /** Aborted when nobody is there any more to hear the answer. Given for verbs that end with their caller. */
  readonly signal: AbortSignal | undefined;
  /** What answers show, as the caller prefers. */
  readonly response: ResponseOptions;
}

export type AskedFor<V extends UnaryVerb> = Asked<RequestOf<V>>;

/** Every verb with one answer. A verb of the table that the service lacks does not compile. */
export type VerbService = { readonly [V in UnaryVerb]: (asked: AskedFor<V>) => Promise<ReplyOf<V>> };
