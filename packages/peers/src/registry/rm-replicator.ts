/**
 * One change of the registry at every member, or at none: first all must answer, then it is made here and there, and if one
 * does not confirm, it is taken back wherever it was made. What could not be taken back at once is owed, and tried again
 * until it is done, the member is gone, or the same entry is changed anew.
 */
import type { Clock } from "@tenure/core";
import { inverse, type RmChange, type RmRegistry } from "./rm-registry.js";

export interface RmCalls {
  /** Rejects if this member does not answer. */
  reach(endpoint: string, signal: AbortSignal): Promise<void>;
  /** Makes the change there alone; resolves to whether it was one. */
  replicate(endpoint: string, change: RmChange, signal: AbortSignal): Promise<boolean>;
}

export interface RmReplicatorOptions {
  readonly registry: RmRegistry;
  readonly clock: Clock;
  readonly limitMs: number;
  /** The active members but oneself. */
  readonly peers: () => readonly string[];
  readonly calls: RmCalls;
}

export type RmOutcome =
  | { readonly kind: "applied" }
  | { readonly kind: "failed"; readonly endpoint: string; readonly cause: unknown };

type Reply<T> = { readonly endpoint: string } & ({ readonly value: T } | { readonly cause: unknown });

export class RmReplicator {
  readonly #options: RmReplicatorOptions;
  readonly #owed = new Map<string, { readonly endpoint: string; readonly change: RmChange }>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: RmReplicatorOptions) {
    this.#options = options;
  }

  /** One after the other. */
  apply(change: RmChange): Promise<RmOutcome> {
    return this.#inTurn(() => this.#apply(change));
  }

  /** Tries what is owed. */
  settle(): Promise<void> {
    return this.#inTurn(async () => {
      const peers = this.#options.peers();
      for (const [key, { endpoint, change }] of this.#owed) {
        if (!peers.includes(endpoint)) this.#owed.delete(key);
        else await this.#takeBack(endpoint, change);
      }
    });
  }

  async #apply(change: RmChange): Promise<RmOutcome> {
    const { registry, calls } = this.#options;
    const peers = this.#options.peers();
    const reached = await this.#ask(peers, (endpoint, signal) => calls.reach(endpoint, signal));
    const away = failure(reached);
    if (away !== null) return away;
    for (const endpoint of peers) this.#owed.delete(keyOf(endpoint, change));
    const isNew = await registry.apply(change);
    const replies = await this.#ask(peers, (endpoint, signal) => calls.replicate(endpoint, change, signal));
    const missed = failure(replies);
    if (missed === null) return { kind: "applied" };
    if (isNew) await registry.apply(inverse(change));
    for (const reply of replies) {
      // Whoever did not confirm may have made it all the same; it had it before if this server had.
      if ("value" in reply ? reply.value : isNew) await this.#takeBack(reply.endpoint, inverse(change));
    }
    return missed;
  }

  async #takeBack(endpoint: string, change: RmChange): Promise<void> {
    const key = keyOf(endpoint, change);
    this.#owed.set(key, { endpoint, change });
    const [reply] = await this.#ask([endpoint], (to, signal) =>
      this.#options.calls.replicate(to, change, signal),
    );
    if (reply !== undefined && "value" in reply) this.#owed.delete(key);
  }

  #ask<T>(
    endpoints: readonly string[],
    call: (endpoint: string, signal: AbortSignal) => Promise<T>,
  ): Promise<readonly Reply<T>[]> {
    const { clock, limitMs } = this.#options;
    const limit = new AbortController();
    const cancel = clock.after(limitMs, () => limit.abort(new Error(`no answer within ${limitMs} ms`)));
    const replies = endpoints.map((endpoint) =>
      call(endpoint, limit.signal).then(
        (value) => ({ endpoint, value }),
        (cause: unknown) => ({ endpoint, cause }),
      ),
    );
    return Promise.all(replies).finally(cancel);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

/** Of one entry there, whichever way it is changed. */
function keyOf(endpoint: string, { backendHash, endpoint: entry }: RmChange): string {
  return `${endpoint} ${backendHash} ${entry}`;
}

function failure(replies: readonly Reply<unknown>[]): (RmOutcome & { kind: "failed" }) | null {
  for (const reply of replies) {
    if ("cause" in reply) return { kind: "failed", endpoint: reply.endpoint, cause: reply.cause };
  }
  return null;
}
