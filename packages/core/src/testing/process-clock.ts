/**
 * The clocks of one simulated process, derived from true time: the oscillator has one rate error, the wall clock has an
 * offset, and the monotonic clock stands still while the machine is suspended.
 *
 * It is also what stops a process: while it is paused or suspended nothing reaches it, neither timers nor messages
 * (`pass`), and all of it comes, in order, when it goes on. A killed process is never called again.
 *
 * A process may also be stopped in the middle of a synchronous stretch, at any reading of its clock (`StopPlan`). Virtual
 * time cannot move inside a stretch, so a stop of d ms at true time T is modelled like this:
 * - The reading shows the time T + d, and so does every reading after it in this stretch. The process is ahead of the world.
 * - What the process does after the reading happens at T + d: timers count from there, and everything that it sends must
 *   leave by `pass`, which withholds it until the world has come to T + d.
 * - Until then `pass` withholds what comes in as well: nothing reaches a stopped process.
 * - A pause or suspend that begins meanwhile begins at T + d. A kill comes at once: what had not left is never sent.
 * - `look` reads the clocks from outside: without a stop, and as they stand at the true time of the world.
 * So the order of all events in true time is one that a real stop of d ms could have produced. What the stretch writes
 * into memory is there from T on; an observer that looks from outside between T and T + d sees it too early, and must
 * allow for that.
 */
import type { CancelTimer, Clock } from "../clock.js";
import type { Random } from "./random.js";
import type { VirtualClock } from "./virtual-clock.js";

/**
 * How often and for how long a process is stopped at a reading of its clock (garbage collection, a CPU quota, SIGSTOP).
 * It may be changed while it is in use.
 */
export interface StopPlan {
  /** How likely each single reading comes after a stop, from 0 to 1. */
  rate: number;
  /** From and to; short ones are drawn as often as long ones of ten times the length. */
  stopMs: readonly [number, number];
}

export interface ProcessClockOptions {
  /** The rate of this clock against true time; 1.01 gains one percent. */
  readonly rate?: number;
  /** Where the wall clock starts, against true time. */
  readonly wallOffsetMs?: number;
  /** Where monotonic and boot time start: they mean nothing across processes. */
  readonly originMs?: number;
  /** Boot time is read in steps of this size, rounded down. */
  readonly bootTickMs?: number;
  /** Stops at readings of the clock; without it there are none. */
  readonly stops?: { readonly plan: StopPlan; readonly random: Random };
}

/** Far above the rounding error of any time reckoned here, far below anything that matters. */
const MIN_WAIT_MS = 1e-6;

/** Its continuations run as those of `queueMicrotask` do, which makes an object of its own for each. */
const SETTLED = Promise.resolve();

type State = "running" | "paused" | "suspended" | "killed";

/** Lets messages through while a process runs: those that come to it, and those that it sends. */
export interface Gate {
  pass(callback: () => void): void;
}

export class ProcessClock implements Clock, Gate {
  readonly bootTickMs: number;
  readonly #true: VirtualClock;
  readonly #withheld: (() => void)[] = [];
  readonly #stops: ProcessClockOptions["stops"];
  #rate: number;
  #state: State = "running";
  #wallOffsetMs: number;
  /** In true time: until when this process is stopped at a reading, and what it moves to then. */
  #stoppedUntilMs = Number.NEGATIVE_INFINITY;
  #stateAfterStop: State = "running";
  #isLookedAt = false;
  // What the clocks showed when rate or state last changed; they are straight lines from there.
  #anchor: { readonly trueMs: number; readonly monotonicMs: number; readonly bootMs: number };

  constructor(trueTime: VirtualClock, options: ProcessClockOptions = {}) {
    this.#true = trueTime;
    this.#stops = options.stops;
    this.#rate = options.rate ?? 1;
    this.#wallOffsetMs = trueTime.wallMs() - (options.originMs ?? 0) + (options.wallOffsetMs ?? 0);
    this.bootTickMs = options.bootTickMs ?? 0;
    const originMs = options.originMs ?? 0;
    this.#anchor = { trueMs: trueTime.monotonicMs(), monotonicMs: originMs, bootMs: originMs };
  }

  get isRunning(): boolean {
    return this.#state === "running" && !this.#isStopped;
  }

  get isKilled(): boolean {
    return this.#state === "killed";
  }

  monotonicMs(): number {
    this.#maybeStop();
    return this.#exactMonotonicMs();
  }

  bootMs(): number {
    this.#maybeStop();
    const exactMs = this.#exactBootMs();
    return this.bootTickMs === 0 ? exactMs : Math.floor(exactMs / this.bootTickMs) * this.bootTickMs;
  }

  wallMs(): number {
    this.#maybeStop();
    return this.#wallOffsetMs + this.#exactBootMs();
  }

  soon(callback: () => void): void {
    void SETTLED.then(callback);
  }

  after(delayMs: number, callback: () => void): CancelTimer {
    const dueMs = this.#exactMonotonicMs() + Math.max(0, delayMs);
    let cancel: CancelTimer = () => {};
    let cancelled = false;
    const arm = (leastMs: number) => {
      const leftMs = Math.max(leastMs, dueMs - this.#exactMonotonicMs());
      const aheadMs = this.#hereMs() - this.#true.monotonicMs();
      cancel = this.#true.after(aheadMs + leftMs / this.#rate, () => this.pass(fire));
    };
    const fire = () => {
      if (cancelled) return;
      // A suspend, a change of rate or rounding may have left this clock behind what was reckoned.
      if (this.#exactMonotonicMs() < dueMs) arm(MIN_WAIT_MS);
      else callback();
    };
    // A wait that is lost in the rounding of `dueMs` takes time, too: its caller may wait for a deadline, again and again.
    arm(delayMs > 0 ? MIN_WAIT_MS : 0);
    return () => {
      cancelled = true;
      cancel();
    };
  }

  /** Calls back now if the process runs, when it goes on if it does not, never if it was killed. */
  pass(callback: () => void): void {
    if (this.#state === "killed") return;
    if (this.isRunning) callback();
    else this.#withheld.push(callback);
  }

  /** Reads the clocks from outside: the process is not stopped by it, and they show what they show now in true time. */
  look<T>(read: () => T): T {
    const before = this.#isLookedAt;
    this.#isLookedAt = true;
    try {
      return read();
    } finally {
      this.#isLookedAt = before;
    }
  }

  /** As by SIGSTOP: the clocks run on. */
  pause(): void {
    this.#moveTo("paused");
  }

  /** As of a laptop or a virtual machine: the monotonic clock stands still, boot time and wall clock run on. */
  suspend(): void {
    this.#moveTo("suspended");
  }

  /** Everything withheld comes now, in order, each with what follows from it before the next. */
  resume(): void {
    if (this.#isStopped) this.#stateAfterStop = "running";
    if (this.#state === "killed" || this.#state === "running") return;
    this.#moveTo("running");
    this.#letThrough();
  }

  kill(): void {
    if (this.#state === "killed") return;
    this.#setAnchor();
    this.#state = "killed";
    this.#withheld.length = 0;
  }

  stepWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  setRate(rate: number): void {
    this.#setAnchor();
    this.#rate = rate;
  }

  get #isStopped(): boolean {
    return this.#stoppedUntilMs > this.#true.monotonicMs();
  }

  #maybeStop(): void {
    const stops = this.#stops;
    if (stops === undefined || stops.plan.rate === 0 || this.#isLookedAt || this.#state !== "running") return;
    if (!stops.random.chance(stops.plan.rate)) return;
    const [minMs, maxMs] = stops.plan.stopMs;
    this.#stop(minMs * (maxMs / minMs) ** stops.random.next());
  }

  #stop(forMs: number): void {
    this.#stateAfterStop = "running";
    this.#stoppedUntilMs = this.#hereMs() + forMs;
    this.#true.at(this.#stoppedUntilMs, () => {
      if (this.#isStopped || this.#state === "killed") return;
      if (this.#stateAfterStop === "running") this.#letThrough();
      else this.#moveTo(this.#stateAfterStop);
    });
  }

  #letThrough(): void {
    for (const callback of this.#withheld.splice(0)) this.#true.after(0, () => this.pass(callback));
  }

  #moveTo(state: State): void {
    if (this.#state === "killed") return;
    if (this.#isStopped) {
      this.#stateAfterStop = state;
      return;
    }
    this.#setAnchor();
    this.#state = state;
  }

  #setAnchor(): void {
    const bootMs = this.#exactBootMs();
    this.#anchor = { trueMs: this.#hereMs(), monotonicMs: this.#exactMonotonicMs(), bootMs };
  }

  /** The true time at which this process is: ahead of the world's while it is stopped at a reading. */
  #hereMs(): number {
    const trueMs = this.#true.monotonicMs();
    return this.#isLookedAt ? trueMs : Math.max(trueMs, this.#stoppedUntilMs);
  }

  #elapsedMs(): number {
    return (this.#hereMs() - this.#anchor.trueMs) * this.#rate;
  }

  #exactMonotonicMs(): number {
    if (this.#state === "suspended") return this.#anchor.monotonicMs;
    return this.#anchor.monotonicMs + this.#elapsedMs();
  }

  #exactBootMs(): number {
    return this.#anchor.bootMs + this.#elapsedMs();
  }
}
