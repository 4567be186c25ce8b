/**
 * A store as one process sees it through a bad network: wraps any `Store` and keeps its contract while everything that
 * the contract allows to go wrong does. What travels does so in true time (`time`), whatever becomes of the process;
 * what arrives passes its `gate`, so that a paused process hears nothing and a killed one never again.
 */
import { BackendUnavailableError, ClosedError } from "../errors.js";
import type { Clock } from "../clock.js";
import type {
  CallOptions,
  CasOp,
  CasOutcome,
  FeedItem,
  Revision,
  Store,
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

export class FaultyStore implements Store {
  readonly name: string;
  readonly limits: StoreLimits;
  readonly plan: FaultPlan;
  /** How much went wrong, for the figures of a run. */
  readonly counts = { writes: 0, conflicts: 0, uncertain: 0, late: 0, syncs: 0, brokenFeeds: 0 };
  readonly #inner: Store;
  readonly #time: Clock;
  readonly #random: Random;
  readonly #gate: Gate;
  readonly #feeds = new Set<FaultyFeed>();
  #closed = false;

  constructor(options: FaultyStoreOptions) {
    this.name = options.store.name;
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
    const plan = this.plan;
    const fate = this.#drawFate();
    return new Promise((resolve, reject) => {
      const call = this.#wayBack(options, (cause) => resolve(batch.map(() => this.#uncertain(cause))));
      if (fate === "refused") {
        call.after(this.#draw(plan.requestMs), () => reject(new BackendUnavailableError("the store is out")));
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
        const done = this.#inner.compareAndSet(this.#withRefusals(batch));
        done.then(
          (outcomes) => fate === "answered" && call.after(answerMs, () => resolve(this.#count(outcomes))),
          (reason: unknown) => fate === "answered" && call.after(answerMs, () => reject(reason)),
        );
      });
    });
  }

  sync(options?: CallOptions): Promise<Revision> {
    const refusal = this.#refusal(options);
    if (refusal !== undefined) return Promise.reject(refusal.reason);
    this.counts.syncs++;
    const plan = this.plan;
    const isOut = this.#isOut();
    const fails = isOut || this.#random.chance(plan.syncFailRate);
    return new Promise((resolve, reject) => {
      const call = this.#wayBack(options, reject);
      if (fails) {
        const failMs = this.#draw(isOut ? plan.requestMs : plan.giveUpMs);
        call.after(failMs, () => reject(new BackendUnavailableError("the store did not answer")));
        return;
      }
      const answerMs = this.#draw(plan.answerMs);
      this.#time.after(this.#draw(plan.requestMs), () => {
        this.#inner.sync().then(
          (revision) => call.after(answerMs, () => resolve(revision)),
          (reason: unknown) => call.after(answerMs, () => reject(reason)),
        );
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

  #drawFate(): "answered" | "refused" | "lost-request" | "lost-answer" | "late" {
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
    for (const outcome of outcomes) if (outcome.kind === "conflict") this.counts.conflicts++;
    return outcomes;
  }

  #uncertain(cause: unknown): CasOutcome {
    this.counts.uncertain++;
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
    signal?.addEventListener("abort", abort, { once: true });
    const arrive = (answer: () => void) => {
      if (done) return;
      done = true;
      signal?.removeEventListener("abort", abort);
      answer();
    };
    return {
      after: (delayMs, answer) => {
        this.#time.after(delayMs, () => this.#gate.pass(() => arrive(answer)));
      },
    };
  }
}
