/** Calls to the service by verb: where each goes, how long it may take, whether it may be sent twice. */
import { type Asked, errorOf, isRefusal, type Refusal } from "./errors.js";
import { type Answered, bodyOf, type Call, type Transport } from "./transport.js";

export interface CallInput extends Pick<Call, "method" | "path" | "body" | "resend" | "headers"> {
  readonly asked?: Asked;
  readonly timeoutMs?: number;
  readonly waitMs?: number;
  /** A refusal that is an outcome of its own here. */
  readonly expect?: string;
}

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
    const { asked, expect, timeoutMs = this.#timeoutMs, ...rest } = input;
    const answered = await this.#tracked(this.#transport.call({ ...rest, timeoutMs, signal }));
    const { body } = answered;
    if (answered.status < 400) return { kind: "done", body: bodyOf<T>(answered), answered };
    if (!isRefusal(body)) return { kind: "done", body: bodyOf<T>(answered), answered };
    if (body.error === expect) return { kind: "expected", refusal: body };
    throw errorOf(body, asked);
  }

  /** Where every refusal is an error. */
  async ask<T>(input: CallInput, signal?: AbortSignal): Promise<T> {
    const outcome = await this.call<T>(input, signal);
    if (outcome.kind === "expected") throw errorOf(outcome.refusal, input.asked);
    return outcome.body;
  }

  /** Until nothing is under way. */
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

export function groupPath(groupId: string, verb = ""): string {
  return `/v1/groups/${encodeURIComponent(groupId)}${verb === "" ? "" : `/${verb}`}`;
}
