/**
 * A store as one process sees it through a bad network: wraps any `Store` and keeps its contract while everything that
 * the contract allows to go wrong does. What travels does so in true time (`time`), whatever becomes of the process;
 * what leaves and what arrives passes its `gate`, so that a paused process sends and hears nothing and a killed one never again.
 */
import { BackendUnavailableError, ClosedError } from "../errors.js";
import type { Clock } from "../clock.js";
import { onAbort } from "../async/on-abort.js";
import type {
  CallOptions,
  CasOp,
  CasOutcome,
  FeedItem,
  Revision,
  Store,
  StoreFeatures,
  StoreLimits,
} from "../store/store.js";
import type { FaultPlan } from "./fault-plan.js";
import { FaultyFeed } from "./faulty-feed.js";
import type { Gate } from "./process-clock.js";
import type { Random } from "./random.js";

export interface FaultyStoreOptions {
  readonly store: Store;
  readonly time: Clock;
  readonly random: Random;
  readonly plan: FaultPlan;
  readonly gate?: Gate;
}

/** How often in an outage a write is met with silence instead of a refusal. */
const OUTAGE_SILENCE_RATE = 0.3;
/** No write ever has this revision, so comparing with it only reads. */
const NO_REVISION = Number.MAX_SAFE_INTEGER;

type Fate = "answered" | "refused" | "lost-request" | "lost-answer" | "late";

/** Of one operation in a batch whose operations fare differently; half of them go well. */
const MIXED_FATES: readonly Fate[] = [
  ...(["answered", "answered", "answered", "answered"] as const),
  ...(["refused", "lost-request", "lost-answer", "late"] as const),
];

/** A call under way. */
interface Sent<T> {
  readonly call: { after(delayMs: number, answer: () => void): void };
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

export class FaultyStore implements Store {
  readonly name: string;
  readonly features: StoreFeatures;
  readonly limits: StoreLimits;
  readonly plan: FaultPlan;
  /** How much went wrong, for the figures of a run. */
  readonly counts = { writes: 0, conflicts: 0, uncertain: 0, late: 0, syncs: 0, brokenFeeds: 0 };
  /** When an operation last came to something else than what was asked for, in true time. */
  troubledAtMs: number = Number.NEGATIVE_INFINITY;
  readonly #inner: Store;
  readonly #time: Clock;
  readonly #random: Random;
  readonly #gate: Gate;
  readonly #feeds = new Set<FaultyFeed>();
  #closed = false;

  constructor(options: FaultyStoreOptions) {
    this.name = options.store.name;
    this.features = options.store.features;
    this.limits = options.store.limits;
    this.plan = options.plan;
    this.#inner = options.store;
    this.#time = options.time;
    this.#random = options.random;
    this.#gate = options.gate ?? { pass: (callback) => callback() };
  }

  compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    const refusal = this.#refusal(options);
    if (refusal !== undefined) return Promise.reject(refusal.reason);
    this.counts.writes += batch.length;
    const fate = this.#drawFate();
    return new Promise((resolve, reject) => {
      const call = this.#wayBack(options, (cause) => resolve(batch.map(() => this.#uncertain(cause))));
      this.#gate.pass(() => this.#send(batch, fate, { call, resolve, reject }));
    });
  }

  #send(batch: readonly CasOp[], fate: Fate, { call, resolve, reject }: Sent<CasOutcome[]>): void {
    const plan = this.plan;
    if (fate === "refused") {
      call.after(this.#draw(plan.requestMs), () => {
        this.#trouble();
        reject(new BackendUnavailableError("the store is out"));
      });
      return;
    }
    if (fate !== "answered") {
      call.after(this.#draw(plan.giveUpMs), () => {
        const cause = new BackendUnavailableError(`no answer: ${fate}`);
        resolve(batch.map(() => this.#uncertain(cause)));
      });
    }
    if (fate === "lost-request") return;
    if (fate === "late") this.counts.late += batch.length;
    const travelMs = fate === "late" ? this.#random.between(0, plan.lateMs) : this.#draw(plan.requestMs);
    const answerMs = this.#draw(plan.answerMs);
    this.#time.after(travelMs, () => {
      this.#write(batch, fate).then(
        (outcomes) => fate === "answered" && call.after(answerMs, () => resolve(this.#count(outcomes))),
        (reason: unknown) => fate === "answered" && call.after(answerMs, () => reject(reason)),
      );
    });
  }

  #write(batch: readonly CasOp[], fate: Fate): Promise<CasOutcome[]> {
    const { mixedRate } = this.plan;
    const isMixed = fate === "answered" && mixedRate > 0 && this.#random.chance(mixedRate);
    return isMixed ? this.#writeMixed(batch) : this.#inner.compareAndSet(this.#withRefusals(batch));
  }

  /** Each operation of the batch has a fate of its own; the answer says of each what is known. */
  async #writeMixed(batch: readonly CasOp[]): Promise<CasOutcome[]> {
    const fates = batch.map(() => this.#random.pick(MIXED_FATES));
    const arriving = batch.flatMap((op, i) => {
      if (fates[i] === "refused") return [{ ...op, expected: NO_REVISION }];
      return fates[i] === "answered" || fates[i] === "lost-answer" ? [op] : [];
    });
    batch.forEach((op, i) => {
      if (fates[i] !== "late") return;
      this.counts.late++;
      this.#time.after(
        this.#random.between(0, this.plan.lateMs),
        () => void this.#inner.compareAndSet([op]).catch(() => {}),
      );
    });
    const outcomes = arriving.length === 0 ? [] : await this.#inner.compareAndSet(arriving);
    return fates.map((fate) => {
      const outcome = fate === "lost-request" || fate === "late" ? undefined : outcomes.shift();
      if (outcome !== undefined && fate !== "lost-answer") return outcome;
      return this.#uncertain(new BackendUnavailableError(`no answer for this operation: ${fate}`));
    });
  }

  sync(options?: CallOptions): Promise<Revision> {
    const refusal = this.#refusal(options);
    if (refusal !== undefined) return Promise.reject(refusal.reason);
    this.counts.syncs++;
    const isOut = this.#isOut();
    const fails = isOut || this.#random.chance(this.plan.syncFailRate);
    return new Promise((resolve, reject) => {
      const call = this.#wayBack(options, reject);
      this.#gate.pass(() => {
        if (fails) {
          const failMs = this.#draw(isOut ? this.plan.requestMs : this.plan.giveUpMs);
          call.after(failMs, () => {
            this.#trouble();
            reject(new BackendUnavailableError("the store did not answer"));
          });
          return;
        }
        const answerMs = this.#draw(this.plan.answerMs);
        this.#time.after(this.#draw(this.plan.requestMs), () => {
          this.#inner.sync().then(
            (revision) => call.after(answerMs, () => resolve(revision)),
            (reason: unknown) => call.after(answerMs, () => reject(reason)),
          );
        });
      });
    });
  }

  feed(options?: CallOptions): AsyncIterable<FeedItem> {
    const refusal = this.#refusal(options);
    const feed = new FaultyFeed({
      open: (signal) => this.#inner.feed({ signal }),
      time: this.#time,
      random: this.#random,
      plan: this.plan,
      gate: this.#gate,
      signal: refusal === undefined ? options?.signal : AbortSignal.abort(refusal.reason),
      onEnd: (ended) => this.#feeds.delete(ended),
    });
    if (refusal === undefined) this.#feeds.add(feed);
    return feed;
  }

  /** Every open feed ends with `BackendUnavailableError`. */
  breakFeeds(): void {
    for (const feed of [...this.#feeds]) {
      this.counts.brokenFeeds++;
      feed.break(new BackendUnavailableError("the feed broke"));
    }
  }

  /** Whether a feed is open that has delivered nothing yet. */
  get isOpeningFeed(): boolean {
    return [...this.#feeds].some((feed) => !feed.hasDelivered);
  }

  /** Every open feed delivers nothing from now on, and does not end: as over a connection that is gone and was never closed. */
  silenceFeeds(): void {
    for (const feed of this.#feeds) feed.silence();
  }

  /** The process is gone: nothing is delivered any more. What was sent may still land. */
  abandon(): void {
    this.#closed = true;
    for (const feed of [...this.#feeds]) feed.abandon();
  }

  /** Ends this process's view; the store behind, which others share, stays open. */
  close(): Promise<void> {
    this.#closed = true;
    for (const feed of [...this.#feeds]) feed.break(new ClosedError("the store is closed"));
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #refusal(options: CallOptions | undefined): { readonly reason: unknown } | undefined {
    if (this.#closed) return { reason: new ClosedError("the store is closed") };
    return options?.signal?.aborted === true ? { reason: options.signal.reason } : undefined;
  }

  #isOut(): boolean {
    return this.#time.monotonicMs() < this.plan.outageUntilMs;
  }

  #draw(range: readonly [number, number]): number {
    return this.#random.between(range[0], range[1]);
  }

  #drawFate(): Fate {
    const plan = this.plan;
    if (this.#isOut()) return this.#random.chance(OUTAGE_SILENCE_RATE) ? "lost-request" : "refused";
    let dice = this.#random.next();
    if ((dice -= plan.lostRequestRate) < 0) return "lost-request";
    if ((dice -= plan.lostAnswerRate) < 0) return "lost-answer";
    return dice - plan.lateRate < 0 ? "late" : "answered";
  }

  /** A refused operation goes as a comparison that fails, so that its answer is a true reading. */
  #withRefusals(batch: readonly CasOp[]): readonly CasOp[] {
    if (this.plan.conflictRate === 0) return batch;
    return batch.map((op) =>
      this.#random.chance(this.plan.conflictRate) ? { ...op, expected: NO_REVISION } : op,
    );
  }

  #count(outcomes: CasOutcome[]): CasOutcome[] {
    for (const outcome of outcomes) {
      if (outcome.kind !== "conflict") continue;
      this.counts.conflicts++;
      this.#trouble();
    }
    return outcomes;
  }

  #trouble(): void {
    this.troubledAtMs = this.#time.monotonicMs();
  }

  #uncertain(cause: unknown): CasOutcome {
    this.counts.uncertain++;
    this.#trouble();
    return { kind: "uncertain", cause };
  }

  /** One call's way back: answered once, through the gate, unless its caller aborts first. */
  #wayBack(
    options: CallOptions | undefined,
    aborted: (reason: unknown) => void,
  ): { after(delayMs: number, answer: () => void): void } {
    const signal = options?.signal;
    let done = false;
    const abort = () => {
      done = true;
      aborted(signal?.reason);
    };
    const stopListening = onAbort(signal, abort);
    const arrive = (answer: () => void) => {
      if (done) return;
      done = true;
      stopListening();
      answer();
    };
    return {
      after: (delayMs, answer) => {
        this.#time.after(delayMs, () => this.#gate.pass(() => arrive(answer)));
      },
    };
  }
}
