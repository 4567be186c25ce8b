/** For the tests of this folder: a store that scripts the fate of chosen writes, and electors in virtual time. */
import { decodeHistory, decodeRecord } from "../codec.js";
import type { CampaignRequest, CampaignResult, Elector } from "../elector.js";
import { BackendUnavailableError } from "../errors.js";
import type { LeadershipEvent } from "../event.js";
import { EMPTY_RECORD, type ElectionRecord } from "../record.js";
import { MemoryStore } from "../store/memory-store.js";
import type {
  CallOptions,
  CasOp,
  CasOutcome,
  Entry,
  FeedItem,
  Revision,
  Store,
  StoreFeatures,
  StoreLimits,
} from "../store/store.js";
import { FaultyStore } from "../testing/faulty-store.js";
import { type FaultPlan, noFaults } from "../testing/fault-plan.js";
import { Random } from "../testing/random.js";
import { VirtualClock } from "../testing/virtual-clock.js";
import type { FeedSink } from "./feed-follower.js";
import { StoreElector, type StoreElectorOptions } from "./store-elector.js";

export const A: CampaignRequest = { groupId: "g", nodeId: "a", instanceId: "a1", ttlMs: 1000 };
export const B: CampaignRequest = { groupId: "g", nodeId: "b", instanceId: "b1", ttlMs: 1000 };
export const C: CampaignRequest = { groupId: "g", nodeId: "c", instanceId: "c1", ttlMs: 1000 };
/** How long a server holds a lease of these candidates: ttl·(1+ρ). */
export const HOLD_MS = 1010;

export interface ClaimRequest {
  readonly groupId: string;
  readonly nodeId: string;
  readonly instanceId: string | undefined;
  readonly term: number;
}

/** A claim as `renew` and `resign` take it. */
export function claimOf({ groupId, nodeId, instanceId }: CampaignRequest, term: number): ClaimRequest {
  return { groupId, nodeId, instanceId, term };
}

/** The fate of one operation; `apply` writes it. A rejection refuses the whole batch. */
export type Fate = (apply: () => Promise<CasOutcome>, op: CasOp) => Promise<CasOutcome>;

const UNCERTAIN: CasOutcome = { kind: "uncertain", cause: "scripted" };

/** Never written and not answered. */
export const lostRequest: Fate = async () => UNCERTAIN;

/** Written and not answered. */
export const lostAnswer: Fate = async (apply) => {
  await apply();
  return UNCERTAIN;
};

/** Not answered, and written after `delayMs`. */
export function late(clock: VirtualClock, delayMs: number): Fate {
  return async (apply) => {
    clock.after(delayMs, () => void apply());
    return UNCERTAIN;
  };
}

export const refused: Fate = () => Promise.reject(new BackendUnavailableError("the store is out"));

/** Refused although the expected revision was right, as NATS may do. */
export function withoutCause(store: Store): Fate {
  return async (_apply, op) => {
    const [outcome] = await store.compareAndSet([{ ...op, expected: Number.MAX_SAFE_INTEGER }]);
    return outcome as CasOutcome;
  };
}

export const silence: Fate = () => new Promise(() => {});

/** `fate`, after `delayMs`. */
export function slowly(clock: VirtualClock, delayMs: number, fate: Fate): Fate {
  return async (apply, op) => {
    await new Promise<void>((resolve) => {
      clock.after(delayMs, resolve);
    });
    return fate(apply, op);
  };
}

/** Held in flight, before it is written, until `release` is called. */
export class Held {
  readonly arrived: Promise<void>;
  readonly fate: Fate;
  release!: () => void;

  constructor() {
    let arrive!: () => void;
    this.arrived = new Promise((resolve) => {
      arrive = resolve;
    });
    const released = new Promise<void>((resolve) => {
      this.release = resolve;
    });
    this.fate = async (apply) => {
      arrive();
      await released;
      return apply();
    };
  }
}

interface Script {
  readonly prefix: string;
  readonly fate: Fate;
  left: number;
}

/** Over a `MemoryStore`: fault-free except for what is scripted. */
export class ScriptedStore implements Store {
  readonly name = "scripted";
  readonly features: StoreFeatures;
  readonly limits: StoreLimits;
  readonly inner: Store;
  /** Operations that were sent, in order. */
  readonly sent: CasOp[] = [];
  syncs = 0;
  onSync: (apply: () => Promise<Revision>) => Promise<Revision> = (apply) => apply();
  #scripts: Script[] = [];

  constructor(inner: Store, limits?: StoreLimits) {
    this.inner = inner;
    this.features = inner.features;
    this.limits = limits ?? inner.limits;
  }

  /** Scripts the fate of the next writes of keys that begin with `prefix`. */
  next(prefix: string, fate: Fate, times = 1): void {
    this.#scripts.push({ prefix, fate, left: times });
  }

  /** Scripts the fate of every write of such keys from now on. */
  always(prefix: string, fate: Fate): void {
    this.next(prefix, fate, Number.POSITIVE_INFINITY);
  }

  /** Neither writes nor reads are answered. */
  fallSilent(): void {
    this.always("", silence);
    this.onSync = () => new Promise(() => {});
  }

  /** Every write and every read is refused at once. */
  goOut(): void {
    this.always("", refused);
    this.onSync = () => Promise.reject(new BackendUnavailableError("the store is out"));
  }

  /** Reads wait until the returned function is called. */
  holdSyncs(): () => void {
    let release!: () => void;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.onSync = async (apply) => {
      await released;
      return apply();
    };
    return release;
  }

  mend(): void {
    this.#scripts = [];
    this.onSync = (apply) => apply();
  }

  /** The number of writes of such keys that were sent. */
  sentTo(prefix: string): number {
    return this.sent.filter(({ key }) => key.startsWith(prefix)).length;
  }

  async compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    this.sent.push(...batch);
    const fates = batch.map((op) => this.#fateOf(op));
    if (fates.every((fate) => fate === null)) return this.inner.compareAndSet(batch, options);
    return Promise.all(
      batch.map((op, index) => {
        const apply = async () => (await this.inner.compareAndSet([op]))[0] as CasOutcome;
        return fates[index]?.(apply, op) ?? apply();
      }),
    );
  }

  sync(options?: CallOptions): Promise<Revision> {
    this.syncs++;
    return this.onSync(() => this.inner.sync(options));
  }

  feed(options?: CallOptions): AsyncIterable<FeedItem> {
    return this.inner.feed(options);
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #fateOf(op: CasOp): Fate | null {
    const script = this.#scripts.find((each) => each.left > 0 && op.key.startsWith(each.prefix));
    if (script === undefined) return null;
    script.left--;
    return script.fate;
  }
}

/** One store, one virtual time, any number of servers. Closed by `close`. */
export class World {
  readonly clock: VirtualClock = new VirtualClock();
  readonly truth: MemoryStore = new MemoryStore();
  readonly #electors: Elector[] = [];
  readonly #stores: ScriptedStore[] = [];

  /** A server with its own scripted store. */
  server(options: Partial<StoreElectorOptions> = {}): { elector: StoreElector; store: ScriptedStore } {
    const store = this.#scripted();
    return { store, elector: this.elector({ store, ...options }) };
  }

  /** A server of which only the feed follows a fault plan. */
  farServer(options: Partial<StoreElectorOptions> = {}): {
    elector: StoreElector;
    store: ScriptedStore;
    plan: FaultPlan;
    feeds: FaultyStore;
  } {
    const plan = noFaults();
    const feeds = new FaultyStore({ store: this.truth, time: this.clock, random: new Random(1), plan });
    const store = this.#scripted();
    store.feed = (callOptions) => feeds.feed(callOptions);
    return { store, plan, feeds, elector: this.elector({ store, ...options }) };
  }

  elector(options: Partial<StoreElectorOptions> = {}): StoreElector {
    const elector = StoreElector.open({
      store: this.truth,
      clock: this.clock,
      random: () => 0.5,
      ...options,
    });
    this.#electors.push(elector);
    return elector;
  }

  /** The value stored under a key, read directly from the inner store. */
  async entry(key: string): Promise<Entry | undefined> {
    for await (const { entries } of this.truth.feed()) return entries.find((each) => each.key === key);
    return undefined;
  }

  async record(groupId = "g"): Promise<ElectionRecord> {
    const entry = await this.entry(`r/${groupId}`);
    return entry === undefined ? EMPTY_RECORD : decodeRecord(entry.value);
  }

  async history(groupId = "g"): Promise<readonly LeadershipEvent[]> {
    const entry = await this.entry(`h/${groupId}`);
    return entry === undefined ? [] : decodeHistory(entry.value).events;
  }

  /** Runs virtual time until `work` has settled, and returns how long that took. */
  async until<T>(work: Promise<T>, limitMs = 120_000): Promise<{ value: T; tookMs: number }> {
    const startMs = this.clock.monotonicMs();
    const settled: number[] = [];
    const settle = () => settled.push(this.clock.monotonicMs());
    work.then(settle, settle);
    await this.clock.advance(0);
    while (settled.length === 0) {
      if (this.clock.monotonicMs() - startMs > limitMs) throw new Error(`not settled after ${limitMs} ms`);
      await this.clock.advance(1);
    }
    return { value: await work, tookMs: (settled[0] ?? 0) - startMs };
  }

  async close(): Promise<void> {
    for (const store of this.#stores) store.mend();
    await this.until(Promise.all(this.#electors.map((elector) => elector.close())));
    await this.truth.close();
    this.clock.stop();
  }

  #scripted(): ScriptedStore {
    const store = new ScriptedStore(this.truth);
    this.#stores.push(store);
    return store;
  }
}

/** The body of a test with its own world. */
export function inWorld(run: (world: World) => Promise<void>): () => Promise<void> {
  return async () => {
    const world = new World();
    try {
      await run(world);
    } finally {
      await world.close();
    }
  };
}

export function wonBy(result: CampaignResult): string | null {
  return result.kind === "elected" ? result.leader.nodeId : null;
}

/** For a follower whose test looks at single entries. */
export function eachEntry(observe: (entry: Entry) => void): FeedSink {
  const take = (entries: readonly Entry[]) => entries.forEach(observe);
  return { snapshot: take, changes: take };
}

/** The reason with which a promise was rejected. The handler is attached at once, so no rejection is unhandled. */
export function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    (value) => new Error(`it was not rejected: ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
}

/** The state of a promise right now, without waiting for it. */
export async function stateOf(work: Promise<unknown>): Promise<"pending" | "fulfilled" | "rejected"> {
  const pending = {};
  return Promise.race([work, Promise.resolve(pending)]).then(
    (value) => (value === pending ? "pending" : "fulfilled"),
    () => "rejected",
  );
}
