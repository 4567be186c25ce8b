/**
 * The elector as the elections of roles see it. Who leads is already in the leader cache, so a thousand elections that
 * come and go open no watch; and at most `MAX_AT_ONCE` of them resign or ask who leads at once.
 */
import type {
  CallOptions,
  CampaignRequest,
  CampaignResult,
  Elector,
  Leadership,
  LeaderOptions,
  RenewManyResult,
  RenewRequest,
  RenewResult,
  ResignRequest,
  ResignResult,
  WatchEvent,
  WatchOptions,
} from "@tenure/core";
import { Semaphore } from "@tenure/core/internal";
import type { KnownLeader } from "../election/state.js";
import type { LeaderCache } from "./leader-cache.js";

/** Each of these is a separate request, while campaigns and renewals are sent in batches. */
const MAX_AT_ONCE = 64;

export class CachedElector implements Elector {
  readonly #elector: Elector;
  readonly #leaders: LeaderCache;
  readonly #single = new Semaphore(MAX_AT_ONCE);

  constructor(elector: Elector, leaders: LeaderCache) {
    this.#elector = elector;
    this.#leaders = leaders;
  }

  campaign(request: CampaignRequest, options?: CallOptions): Promise<CampaignResult> {
    return this.#elector.campaign(request, options);
  }

  renew(request: RenewRequest, options?: CallOptions): Promise<RenewResult> {
    return this.#elector.renew(request, options);
  }

  renewMany(requests: readonly RenewRequest[], options?: CallOptions): Promise<readonly RenewManyResult[]> {
    return this.#elector.renewMany(requests, options);
  }

  resign(request: ResignRequest, options?: CallOptions): Promise<ResignResult> {
    return this.#single.run(options?.signal, () => this.#elector.resign(request, options));
  }

  leader(groupId: string, options?: LeaderOptions): Promise<Leadership> {
    return this.#single.run(options?.signal, () => this.#elector.leader(groupId, options));
  }

  /** Delivers states, not all events; an election needs no more. */
  async *watch(groupId: string, options?: WatchOptions): AsyncGenerator<WatchEvent> {
    const watch = this.#leaders.watch(groupId);
    const signal = options?.signal ?? new AbortController().signal;
    for (let told: KnownLeader | null = null; ;) {
      const { known, previousId } = watch;
      if (known === null || known === told) {
        await watch.changed(Number.POSITIVE_INFINITY, signal);
        continue;
      }
      told = known;
      const type = known.nodeId === null ? "LEADER_LOST" : "LEADER_CHANGED";
      const { nodeId: leaderNodeId, term, reason } = known;
      yield {
        type,
        groupId,
        cursor: 0,
        term,
        leaderNodeId,
        previousLeaderNodeId: previousId,
        reason,
        tsMs: 0,
      };
    }
  }

  /** Does nothing: the owner of the elector closes it. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
