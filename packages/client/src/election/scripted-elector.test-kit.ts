/** An elector that scripts the fate of chosen calls, and remembers every call. */
import {
  BackendUnavailableError,
  type CallOptions,
  type CampaignRequest,
  type CampaignResult,
  type Clock,
  type Elector,
  type LeaderOptions,
  type Leadership,
  type RenewManyResult,
  type RenewRequest,
  type RenewResult,
  type ResignRequest,
  type ResignResult,
  sleep,
  type WatchEvent,
  type WatchOptions,
} from "@tenure/core";
import { unlessAborted } from "@tenure/core/internal";

export type Verb = "campaign" | "renew" | "resign" | "leader";

/** The fate of one call; `call` makes it. */
export type Fate = <T>(call: () => Promise<T>) => Promise<T>;

export const out: Fate = () => Promise.reject(new BackendUnavailableError("the store is out"));
/** Never answered and never made. */
export const silence: Fate = () => new Promise(() => {});
/** Made and not answered. */
export const lostAnswer: Fate = async (call) => {
  await call();
  throw new BackendUnavailableError("the answer was lost");
};
export function refused(error: Error): Fate {
  return () => Promise.reject(error);
}
/** Made at once and answered after `delayMs`. */
export function answeredAfter(clock: Clock, delayMs: number): Fate {
  return async (call) => {
    const answer = await call();
    await sleep(clock, delayMs);
    return answer;
  };
}

interface Call {
  readonly verb: Verb;
  readonly atMs: number;
  readonly waitMs?: number | undefined;
  readonly term?: number | undefined;
}

export class ScriptedElector implements Elector {
  readonly calls: Call[] = [];
  /** Each watch that is opened now delivers the state of its group, and nothing that happens after that. */
  isDeaf = false;
  readonly #behind: Elector;
  readonly #clock: Clock;
  #scripts: { readonly verb: Verb; readonly fate: Fate; left: number }[] = [];

  constructor(behind: Elector, clock: Clock) {
    this.#behind = behind;
    this.#clock = clock;
  }

  /** Scripts the fate of the next calls of this verb. */
  next(verb: Verb, fate: Fate, times = 1): void {
    this.#scripts.push({ verb, fate, left: times });
  }

  /** Scripts the fate of every call from now on. */
  always(fate: Fate, ...verbs: readonly Verb[]): void {
    const all = verbs.length > 0 ? verbs : (["campaign", "renew", "resign", "leader"] as const);
    for (const verb of all) this.next(verb, fate, Number.POSITIVE_INFINITY);
  }

  mend(): void {
    this.#scripts = [];
  }

  made(verb: Verb): readonly Call[] {
    return this.calls.filter((call) => call.verb === verb);
  }

  campaign(request: CampaignRequest, options?: CallOptions): Promise<CampaignResult> {
    const { waitMs } = request;
    return this.#call({ verb: "campaign", waitMs }, options, () => this.#behind.campaign(request, options));
  }

  renew(request: RenewRequest, options?: CallOptions): Promise<RenewResult> {
    const { term } = request;
    return this.#call({ verb: "renew", term }, options, () => this.#behind.renew(request, options));
  }

  renewMany(requests: readonly RenewRequest[], options?: CallOptions): Promise<readonly RenewManyResult[]> {
    return this.#behind.renewMany(requests, options);
  }

  resign(request: ResignRequest, options?: CallOptions): Promise<ResignResult> {
    const { term } = request;
    return this.#call({ verb: "resign", term }, options, () => this.#behind.resign(request, options));
  }

  leader(groupId: string, options?: LeaderOptions): Promise<Leadership> {
    return this.#call({ verb: "leader" }, options, () => this.#behind.leader(groupId, options));
  }

  watch(groupId: string, options?: WatchOptions): AsyncIterable<WatchEvent> {
    const watch = this.#behind.watch(groupId, options);
    return this.isDeaf ? firstOf(watch, options?.signal) : watch;
  }

  close(): Promise<void> {
    return this.#behind.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #call<T>(call: Omit<Call, "atMs">, options: CallOptions | undefined, make: () => Promise<T>): Promise<T> {
    this.calls.push({ ...call, atMs: this.#clock.monotonicMs() });
    const script = this.#scripts.find(({ verb, left }) => verb === call.verb && left > 0);
    if (script === undefined) return make();
    script.left -= 1;
    return unlessAborted(options?.signal, script.fate(make));
  }
}

/** The first event; the end comes with the signal. */
async function* firstOf(
  watch: AsyncIterable<WatchEvent>,
  signal: AbortSignal | undefined,
): AsyncGenerator<WatchEvent> {
  for await (const event of watch) {
    yield event;
    await unlessAborted(signal, new Promise(() => {}));
  }
}
