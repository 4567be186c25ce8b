/**
 * One change of the registry at every member, or at none: first all members must answer, then the change is made here
 * and there, and if one member does not confirm, it is taken back everywhere by a newer version. A member that cannot
 * be reached then learns it when it next compares its registry with the others.
 */
import type { Clock } from "@tenure/core";
import { within } from "@tenure/core/internal";
import { SerialQueue } from "../serial-queue.js";
import { compareVersions, inverse, type RmChange, type RmEntry, type RmRegistry } from "./rm-registry.js";

export interface RmCalls {
  /** Rejects if this member does not answer. */
  reach(endpoint: string, signal: AbortSignal): Promise<void>;
  /** Makes this member take the entry if it is newer; resolves to the entry that the member has then. */
  replicate(endpoint: string, entry: RmEntry, signal: AbortSignal): Promise<RmEntry>;
}

export interface RmReplicatorOptions {
  readonly registry: RmRegistry;
  readonly clock: Clock;
  readonly limitMs: number;
  /** The active members without this server. */
  readonly peers: () => readonly string[];
  readonly calls: RmCalls;
  /** A change was made everywhere that changed something. */
  readonly onChanged: (change: RmChange) => void;
}

export type RmOutcome =
  | { readonly kind: "applied" }
  | { readonly kind: "failed"; readonly endpoint: string; readonly cause: unknown };

type Reply<T> = { readonly endpoint: string } & ({ readonly value: T } | { readonly cause: unknown });

/** How often a change is made again over newer versions of other servers before it fails. */
const ATTEMPTS = 3;

export class RmReplicator {
  readonly #options: RmReplicatorOptions;
  readonly #queue = new SerialQueue();

  constructor(options: RmReplicatorOptions) {
    this.#options = options;
  }

  /** One change at a time. */
  apply(change: RmChange): Promise<RmOutcome> {
    return this.#queue.run(() => this.#apply(change));
  }

  async #apply(change: RmChange): Promise<RmOutcome> {
    const { registry, calls } = this.#options;
    const peers = this.#options.peers();
    const away = failure(await this.#ask(peers, (endpoint, signal) => calls.reach(endpoint, signal)));
    if (away !== null) return away;
    for (let attempt = 1; ; attempt++) {
      const { entry, isNew } = await registry.make(change);
      const replies = await this.#tell(peers, entry);
      const missed = failure(replies);
      if (missed !== null) {
        if (isNew) await this.#tell(peers, (await registry.make(inverse(change))).entry);
        return missed;
      }
      const newer = replies.flatMap((reply) =>
        "value" in reply && compareVersions(reply.value.version, entry.version) > 0 ? [reply] : [],
      );
      const contrary = newer.find(({ value }) => value.isRegistered !== entry.isRegistered);
      if (contrary === undefined) {
        if (isNew) this.#options.onChanged(change);
        return { kind: "applied" };
      }
      // This server had missed changes of the entry: the next version goes above them.
      await registry.merge(newer.map(({ value }) => value));
      if (attempt === ATTEMPTS) {
        const cause = new Error(
          "it has a newer, different version each time: another server is changing this entry",
        );
        return { kind: "failed", endpoint: contrary.endpoint, cause };
      }
    }
  }

  #tell(peers: readonly string[], entry: RmEntry): Promise<readonly Reply<RmEntry>[]> {
    return this.#ask(peers, (endpoint, signal) => this.#options.calls.replicate(endpoint, entry, signal));
  }

  #ask<T>(
    endpoints: readonly string[],
    call: (endpoint: string, signal: AbortSignal) => Promise<T>,
  ): Promise<readonly Reply<T>[]> {
    const { clock, limitMs } = this.#options;
    const ask = (endpoint: string, signal: AbortSignal): Promise<Reply<T>> =>
      call(endpoint, signal).then(
        (value) => ({ endpoint, value }),
        (cause: unknown) => ({ endpoint, cause }),
      );
    return within(clock, { limitMs }, (signal) =>
      Promise.all(endpoints.map((endpoint) => ask(endpoint, signal))),
    );
  }
}

function failure(replies: readonly Reply<unknown>[]): (RmOutcome & { kind: "failed" }) | null {
  for (const reply of replies) {
    if ("cause" in reply) return { kind: "failed", endpoint: reply.endpoint, cause: reply.cause };
  }
  return null;
}
