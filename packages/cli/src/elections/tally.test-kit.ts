import type { ElectionMetrics } from "@tenure/client";
import { type Elector, type Store, StoreElector } from "@tenure/core";
import { openStore } from "@tenure/stores";

/** Electors, each over its own store as if each were a process, with counts of the calls to both. */
export class Tally {
  readonly #opened: (readonly [StoreElector, Store])[] = [];
  /** Calls of the electors. */
  campaigns = 0;
  /** Writes of the store: each key that was to be written, whether it was or not. */
  writes = 0;
  syncs = 0;

  async open(url: string): Promise<Elector> {
    const store = await openStore(url);
    const elector = StoreElector.open({ store: this.#counted(store) });
    this.#opened.push([elector, store]);
    return this.#countedElector(elector);
  }

  async close(): Promise<void> {
    await Promise.all(
      this.#opened.map(async ([elector, store]) => {
        await elector.close();
        await store.close();
      }),
    );
  }

  /** Logs failures only. */
  metrics(failed: (code: string) => void): ElectionMetrics {
    const ignore = () => {};
    return {
      isLeader: ignore,
      connectionStatus: ignore,
      transition: ignore,
      failure: (_, code) => failed(code),
      acquireAttempt: ignore,
      tokenValidationFailure: ignore,
      heartbeat: ignore,
      leaderDuration: ignore,
      workOverdue: ignore,
    };
  }

  #counted(store: Store): Store {
    return {
      name: store.name,
      features: store.features,
      limits: store.limits,
      compareAndSet: (batch, options) => {
        this.writes += batch.length;
        return store.compareAndSet(batch, options);
      },
      sync: (options) => {
        this.syncs += 1;
        return store.sync(options);
      },
      feed: (options) => store.feed(options),
      close: () => store.close(),
      [Symbol.asyncDispose]: () => store.close(),
    };
  }

  #countedElector(elector: Elector): Elector {
    return {
      campaign: (request, options) => {
        this.campaigns += 1;
        return elector.campaign(request, options);
      },
      renew: (request, options) => elector.renew(request, options),
      renewMany: (requests, options) => elector.renewMany(requests, options),
      resign: (request, options) => elector.resign(request, options),
      leader: (groupId, options) => elector.leader(groupId, options),
      watch: (groupId, options) => elector.watch(groupId, options),
      close: () => elector.close(),
      [Symbol.asyncDispose]: () => elector.close(),
    };
  }
}
