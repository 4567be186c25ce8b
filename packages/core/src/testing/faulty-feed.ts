/**
 * A feed on its way to one process: delayed, stalled, broken, or leaving out superseded values as a stream that keeps
 * only the last message per key does. What it never does is break the contract: order is kept, and `revision` stays
 * below a value left out until the later one of that key is delivered.
 */
import { BackendUnavailableError } from "../errors.js";
import type { Clock } from "../clock.js";
import { onAbort } from "../async/on-abort.js";
import type { FeedItem, Revision } from "../store/store.js";
import type { FaultPlan } from "./fault-plan.js";
import type { Gate } from "./process-clock.js";
import type { Random } from "./random.js";

export interface FaultyFeedOptions {
  /** Opens the feed behind; called once, when the request has arrived. */
  readonly open: (signal: AbortSignal) => AsyncIterable<FeedItem>;
  readonly time: Clock;
  readonly random: Random;
  readonly plan: FaultPlan;
  readonly gate: Gate;
  readonly signal: AbortSignal | undefined;
  readonly onEnd: (feed: FaultyFeed) => void;
}

interface Waiter {
  resolve(result: IteratorResult<FeedItem>): void;
  reject(reason: unknown): void;
}

export class FaultyFeed implements AsyncIterableIterator<FeedItem> {
  readonly #options: FaultyFeedOptions;
  readonly #behind = new AbortController();
  /** On its way, in order. */
  readonly #pending: { readonly item: FeedItem; readonly dueMs: number }[] = [];
  /** Arrived, not yet asked for. */
  readonly #ready: FeedItem[] = [];
  readonly #waiters: Waiter[] = [];
  /** Per key the first value left out since the last one delivered. */
  readonly #holes = new Map<string, Revision>();
  #ended: { readonly reason: unknown } | "returned" | undefined;
  #moving = false;
  #stopListening = (): void => {};
  #silent = false;
  #hasDelivered = false;

  constructor(options: FaultyFeedOptions) {
    this.#options = options;
    const { signal, time, random, plan } = options;
    if (signal?.aborted === true) this.#end({ reason: signal.reason });
    else this.#stopListening = onAbort(signal, this.#abort);
    options.gate.pass(() => time.after(random.between(...plan.requestMs), () => void this.#read()));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<FeedItem>> {
    const item = this.#ready.shift();
    if (item !== undefined) return Promise.resolve({ done: false, value: item });
    if (this.#ended === "returned") return Promise.resolve({ done: true, value: undefined });
    if (this.#ended !== undefined) {
      const { reason } = this.#ended;
      this.#ended = "returned";
      return Promise.reject(reason);
    }
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  return(): Promise<IteratorResult<FeedItem>> {
    this.#ready.length = 0;
    this.#end("returned");
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Items that have not arrived are lost. The consumer gets the error after it has taken those that have. */
  break(reason: unknown): void {
    this.#options.gate.pass(() => this.#end({ reason }));
  }

  get hasDelivered(): boolean {
    return this.#hasDelivered;
  }

  /** Nothing is delivered until the feed is broken or closed. */
  silence(): void {
    this.#silent = true;
  }

  /** Nothing is delivered any more, not even an end. */
  abandon(): void {
    this.#waiters.length = 0;
    this.#end("returned");
  }

  readonly #abort = () => this.#end({ reason: this.#options.signal?.reason });

  async #read(): Promise<void> {
    const { open, plan, time } = this.#options;
    if (this.#ended !== undefined) return;
    if (time.monotonicMs() < plan.outageUntilMs)
      return this.break(new BackendUnavailableError("the store is out"));
    try {
      for await (const item of open(this.#behind.signal)) {
        for (const part of this.#split(item)) this.#send(part);
      }
    } catch (reason) {
      if (this.#ended === undefined) this.break(reason);
    }
  }

  /** A feed that leaves values out delivers one at a time; any other passes on what it gets. */
  #split(item: FeedItem): readonly FeedItem[] {
    if (item.kind === "snapshot" || this.#options.plan.coalesceRate === 0 || item.entries.length < 2)
      return [item];
    const last = item.entries.length - 1;
    return item.entries.map((entry, i) => ({
      kind: "changes",
      entries: [entry],
      revision: i === last ? item.revision : entry.revision,
    }));
  }

  #send(item: FeedItem): void {
    const { random, plan, time } = this.#options;
    this.#pending.push({ item, dueMs: time.monotonicMs() + random.between(...plan.feedMs) });
    if (!this.#moving) this.#moveOn();
  }

  #moveOn(): void {
    const { plan, time } = this.#options;
    const first = this.#pending[0];
    this.#moving = first !== undefined;
    if (first === undefined) return;
    const dueMs = Math.max(first.dueMs, plan.feedStalledUntilMs);
    time.after(dueMs - time.monotonicMs(), () => {
      if (this.#ended !== undefined) return;
      if (time.monotonicMs() < plan.feedStalledUntilMs) return this.#moveOn();
      this.#arrive();
      this.#moveOn();
    });
  }

  #arrive(): void {
    const { random, plan, gate } = this.#options;
    const first = this.#pending.shift();
    if (first === undefined) return;
    const item = first.item;
    if (item.kind === "changes" && this.#isSuperseded(item) && random.chance(plan.coalesceRate)) {
      for (const { key, revision } of item.entries) if (!this.#holes.has(key)) this.#holes.set(key, revision);
      return;
    }
    for (const { key } of item.entries) this.#holes.delete(key);
    const arrived = { ...item, revision: this.#progress(item) };
    gate.pass(() => this.#deliver(arrived));
  }

  #isSuperseded(item: FeedItem): boolean {
    return item.entries.every(({ key }) =>
      this.#pending.some((later) => later.item.entries.some((entry) => entry.key === key)),
    );
  }

  #progress(item: FeedItem): Revision {
    let revision = item.revision;
    for (const hole of this.#holes.values()) revision = Math.min(revision, hole - 1);
    return revision;
  }

  #deliver(item: FeedItem): void {
    if (this.#ended !== undefined || this.#silent) return;
    this.#hasDelivered = true;
    const waiter = this.#waiters.shift();
    if (waiter === undefined) this.#ready.push(item);
    else waiter.resolve({ done: false, value: item });
  }

  #end(how: { readonly reason: unknown } | "returned"): void {
    if (this.#ended !== undefined) return;
    this.#ended = how;
    this.#pending.length = 0;
    this.#behind.abort();
    this.#stopListening();
    this.#options.onEnd(this);
    for (const waiter of this.#waiters.splice(0)) {
      if (how === "returned") waiter.resolve({ done: true, value: undefined });
      else waiter.reject(how.reason);
    }
  }
}
