/** Calls to the service by verb. The table of verbs says where a call goes and whether it may be sent twice. */
import { pathOf, PREFER_METADATA, type Verb, type VerbName, VERBS } from "@tenure/api";
import type { AskedOf } from "@tenure/api/errors";
import { errorOf, isRefusal, type Refusal } from "./errors.js";
import { type Answered, bodyOf, type Call, type Transport } from "./transport.js";

export interface CallInput extends Pick<Call, "body"> {
  readonly verb: VerbName;
  /** For a verb whose path names a group. */
  readonly groupId?: string;
  readonly query?: Readonly<Record<string, string>>;
  /** The requested ttl, which a refusal does not repeat. */
  readonly ttlMs?: number;
  readonly timeoutMs?: number;
  readonly waitMs?: number;
  /** The code of a refusal that is an expected outcome here. */
  readonly expect?: string;
}

/** Answers include the leader's metadata only if this header asks for it. */
const FULL = { prefer: PREFER_METADATA } as const;

export type Outcome<T> =
  | { readonly kind: "done"; readonly body: T; readonly answered: Answered }
  | { readonly kind: "expected"; readonly refusal: Refusal };

export class ServiceCalls {
  readonly #transport: Transport;
  readonly #timeoutMs: number;
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(transport: Transport, timeoutMs: number) {
    this.#transport = transport;
    this.#timeoutMs = timeoutMs;
  }

  async call<T>(input: CallInput, signal?: AbortSignal): Promise<Outcome<T>> {
    const { verb, groupId, query = {}, expect, timeoutMs = this.#timeoutMs, body, waitMs } = input;
    const { method, resend, prefer }: Verb = VERBS[verb];
    const texts = new URLSearchParams(query).toString();
    const path = `${pathOf(verb, groupId)}${texts === "" ? "" : `?${texts}`}`;
    const headers = prefer === true ? FULL : undefined;
    const answered = await this.#tracked(
      this.#transport.call({ method, path, body, headers, resend, timeoutMs, waitMs, signal }),
    );
    const { body: said } = answered;
    if (answered.status < 400 || !isRefusal(said))
      return { kind: "done", body: bodyOf<T>(answered), answered };
    if (said.error === expect) return { kind: "expected", refusal: said };
    throw errorOf(said, asked(input));
  }

  /** For calls where every refusal is an error. */
  async ask<T>(input: CallInput, signal?: AbortSignal): Promise<T> {
    const outcome = await this.call<T>(input, signal);
    if (outcome.kind === "expected") throw errorOf(outcome.refusal, asked(input));
    return outcome.body;
  }

  /** Resolves when no call is in progress. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled([...this.#underWay]);
  }

  #tracked<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work);
    const done = () => this.#underWay.delete(work);
    work.then(done, done);
    return work;
  }
}

function asked({ groupId, ttlMs }: CallInput): AskedOf {
  return { ...(groupId === undefined ? {} : { groupId }), ...(ttlMs === undefined ? {} : { ttlMs }) };
}
