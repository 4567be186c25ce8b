/**
 * The clocks of one simulated process, derived from true time: its oscillator has one rate error, its wall clock is
 * set by somebody, and its monotonic clock stands still while the machine is suspended.
 *
 * It is also what stops a process: while it is paused or suspended nothing reaches it, neither timers nor messages
 * (`pass`), and all of it comes, in order, when it goes on. A killed process is never called again.
 */
import type { CancelTimer, Clock } from "../clock.js";
import type { VirtualClock } from "./virtual-clock.js";

export interface ProcessClockOptions {
  /** How fast this clock runs against true time; 1.01 gains a hundredth. */
  readonly rate?: number;
  /** Where the wall clock starts, against true time. */
  readonly wallOffsetMs?: number;
  /** Where monotonic and boot time start: they mean nothing across processes. */
  readonly originMs?: number;
  /** Boot time is read in steps of so much, rounded down. */
  readonly bootTickMs?: number;
}

/** Far above the rounding error of any time reckoned here, far below anything that matters. */
const LEAST_WAIT_MS = 1e-6;

/** Lets messages through to a process while it runs. */
export interface Gate {
  pass(callback: () => void): void;
}

export class ProcessClock implements Clock, Gate {
  readonly bootTickMs: number;
  readonly #true: VirtualClock;
  readonly #withheld: (() => void)[] = [];
  #rate: number;
  #state: "running" | "paused" | "suspended" | "killed" = "running";
  #wallOffsetMs: number;
  // What the clocks showed when rate or state last changed; they are straight lines from there.
  #anchor: { readonly trueMs: number; readonly monotonicMs: number; readonly bootMs: number };

  constructor(trueTime: VirtualClock, options: ProcessClockOptions = {}) {
    this.#true = trueTime;
    this.#rate = options.rate ?? 1;
    this.#wallOffsetMs = trueTime.wallMs() - (options.originMs ?? 0) + (options.wallOffsetMs ?? 0);
    this.bootTickMs = options.bootTickMs ?? 0;
    const originMs = options.originMs ?? 0;
    this.#anchor = { trueMs: trueTime.monotonicMs(), monotonicMs: originMs, bootMs: originMs };
  }

  get isRunning(): boolean {
    return this.#state === "running";
  }

  get isKilled(): boolean {
    return this.#state === "killed";
  }

  monotonicMs(): number {
    if (this.#state === "suspended") return this.#anchor.monotonicMs;
    return this.#anchor.monotonicMs + this.#elapsedMs();
  }

  bootMs(): number {
    const exactMs = this.#exactBootMs();
    return this.bootTickMs === 0 ? exactMs : Math.floor(exactMs / this.bootTickMs) * this.bootTickMs;
  }

  wallMs(): number {
    return this.#wallOffsetMs + this.#exactBootMs();
  }

  soon(callback: () => void): void {
    queueMicrotask(callback);
  }

  after(delayMs: number, callback: () => void): CancelTimer {
    const dueMs = this.monotonicMs() + Math.max(0, delayMs);
    let cancel: CancelTimer = () => {};
    let cancelled = false;
    const arm = (leastMs: number) => {
      const leftMs = Math.max(leastMs, dueMs - this.monotonicMs());
      cancel = this.#true.after(leftMs / this.#rate, () => this.pass(fire));
    };
    const fire = () => {
      if (cancelled) return;
      // A suspend, a change of rate or rounding may have left this clock behind what was reckoned.
      if (this.monotonicMs() < dueMs) arm(LEAST_WAIT_MS);
      else callback();
    };
    arm(0);
    return () => {
      cancelled = true;
      cancel();
    };
  }

  /** Calls back now if the process runs, when it goes on if it does not, never if it was killed. */
  pass(callback: () => void): void {
    if (this.#state === "killed") return;
    if (this.#state === "running") callback();
    else this.#withheld.push(callback);
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
    if (this.#state === "killed" || this.#state === "running") return;
    this.#moveTo("running");
    for (const callback of this.#withheld.splice(0)) this.#true.after(0, () => this.pass(callback));
  }

  kill(): void {
    this.#moveTo("killed");
    this.#withheld.length = 0;
  }

  stepWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  setRate(rate: number): void {
    this.#setAnchor();
    this.#rate = rate;
  }

  #moveTo(state: "running" | "paused" | "suspended" | "killed"): void {
    if (this.#state === "killed") return;
    this.#setAnchor();
    this.#state = state;
  }

  #setAnchor(): void {
    const bootMs = this.#exactBootMs();
    this.#anchor = { trueMs: this.#true.monotonicMs(), monotonicMs: this.monotonicMs(), bootMs };
  }

  #elapsedMs(): number {
    return (this.#true.monotonicMs() - this.#anchor.trueMs) * this.#rate;
  }

  #exactBootMs(): number {
    return this.#anchor.bootMs + this.#elapsedMs();
  }
}
