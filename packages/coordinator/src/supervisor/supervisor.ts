/**
 * Keeps an ordered set of children alive for one leadership: started in order, stopped in reverse, started again by their
 * strategy when they end; until told to stop, or until they cannot be kept alive.
 *
 * Promised: `run` settles only when nothing of any child runs; what has not ended shortly before the lease does is ended by
 * force, and nothing is started once it is over. What runs in this very thread and ignores its signal cannot be ended: then
 * the process has to (`onStuck`).
 */
import type { LeaseTime } from "@tenure/client";
import {
  type CancelTimer,
  checkInteger,
  checkKeys,
  type Clock,
  InvalidRequestError,
  onAbort,
  systemClock,
} from "@tenure/core";
import { checkChildren } from "./check-children.js";
import type { ChildSpec } from "./child.js";
import { RestartLimit, type RestartLimitOptions } from "./restart-limit.js";
import { type ChildEnd, Slot, type SlotHooks } from "./slot.js";

/** Who is started again with a child that ended: it alone; all; it and those after it. */
export type Strategy = "one_for_one" | "one_for_all" | "rest_for_one";

export interface SupervisorOptions {
  readonly children: readonly ChildSpec[];
  readonly strategy?: Strategy;
  readonly intensity?: RestartLimitOptions;
  /** What has not ended so long before the lease does is ended by force. */
  readonly killMarginMs?: number;
  /**
   * These run in this thread and ignore their signal, and their time to end is over, or the lease is about to be. Ends the
   * process by default.
   */
  readonly onStuck?: (ids: readonly string[]) => void;
  readonly onRestart?: (id: string, end: ChildEnd) => void;
  readonly clock?: Clock;
}

export type SupervisorEnd =
  | { readonly kind: "stopped" }
  | { readonly kind: "gave-up"; readonly error: Error };

const KNOWN: readonly (keyof SupervisorOptions)[] = [
  "children",
  "strategy",
  "intensity",
  "killMarginMs",
  "onStuck",
  "onRestart",
  "clock",
];
const STRATEGIES: readonly Strategy[] = ["one_for_one", "one_for_all", "rest_for_one"];
/** As `sysexits.h` has it: an internal software error. */
const EXIT_STUCK = 70;

type Event = { readonly slot: Slot; readonly end: ChildEnd };

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #strategy: Strategy;
  readonly #clock: Clock;
  readonly #slots: readonly Slot[];
  readonly #limit: RestartLimit;
  readonly #killMarginMs: number;
  #events: Event[] = [];
  #wake = (): void => {};
  #cancelKill: CancelTimer = () => {};

  constructor(options: SupervisorOptions) {
    checkKeys(options, "", KNOWN);
    const { children, strategy = "one_for_one", killMarginMs = 50, clock = systemClock } = options;
    if (!STRATEGIES.includes(strategy)) {
      throw new InvalidRequestError(
        "strategy",
        `is ${JSON.stringify(strategy)}; known are ${STRATEGIES.join(", ")}`,
      );
    }
    checkChildren(children);
    this.#options = options;
    this.#strategy = strategy;
    this.#clock = clock;
    this.#killMarginMs = checkInteger(killMarginMs, "killMarginMs", 1, 3_600_000);
    this.#limit = new RestartLimit(options.intensity, clock);
    const hooks: SlotHooks = {
      ended: (slot, end) => {
        this.#events.push({ slot, end });
        this.#wake();
      },
      stuck: (slot) => this.#stuck([slot]),
    };
    this.#slots = children.map((spec) => new Slot(spec, clock, hooks));
  }

  /** The ids of those that run. */
  get running(): readonly string[] {
    return this.#slots.filter((slot) => slot.isAlive).map((slot) => slot.spec.id);
  }

  async run(term: number, signal: AbortSignal, lease: LeaseTime): Promise<SupervisorEnd> {
    this.#events = [];
    let tellAborted = (): void => {};
    const aborted = new Promise<void>((resolve) => {
      tellAborted = resolve;
    });
    let isArmed = false;
    const arm = () => {
      if (!isArmed) this.#killInTime(lease);
      isArmed = true;
    };
    const stopListening = onAbort(signal, () => {
      arm();
      this.#wake();
      tellAborted();
    });
    try {
      return await this.#keep({ term, lease, aborted }, signal);
    } finally {
      arm();
      await this.#stop(this.#slots);
      stopListening();
      this.#cancelKill();
    }
  }

  async #keep(context: Context, signal: AbortSignal): Promise<SupervisorEnd> {
    await this.#start(this.#slots, context, signal);
    for (;;) {
      if (signal.aborted) return { kind: "stopped" };
      const event = this.#events.shift();
      if (event === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      } else if (isRestarted(event)) {
        const { id } = event.slot.spec;
        if (!this.#limit.admit()) return { kind: "gave-up", error: this.#tooMany(event) };
        this.#options.onRestart?.(id, event.end);
        const affected = this.#affected(event.slot);
        await this.#stop(affected);
        // What they reported before they were stopped is settled with that.
        this.#events = this.#events.filter(({ slot }) => !affected.includes(slot));
        await this.#start(affected, context, signal);
      }
    }
  }

  #affected(ended: Slot): readonly Slot[] {
    const index = this.#slots.indexOf(ended);
    if (this.#strategy === "one_for_all") return this.#slots;
    return this.#strategy === "rest_for_one" ? this.#slots.slice(index) : [ended];
  }

  async #start(slots: readonly Slot[], context: Context, signal: AbortSignal): Promise<void> {
    for (const slot of slots) {
      // After a pause of this process the clock may know of the end before the signal does.
      if (signal.aborted || context.lease.leftMs() <= 0) return;
      await Promise.race([slot.start(context), context.aborted]);
    }
  }

  async #stop(slots: readonly Slot[]): Promise<void> {
    for (const slot of slots.toReversed()) await slot.stop();
  }

  /** Renewals may move the end of the lease while the children end; so it looks again. */
  #killInTime(lease: LeaseTime): void {
    const leftMs = lease.leftMs() - this.#killMarginMs;
    if (leftMs <= 0) return this.#kill();
    this.#cancelKill = this.#clock.after(leftMs, () => this.#killInTime(lease));
  }

  /** What cannot be ended by force has until the end of the lease to heed its signal. */
  #kill(): void {
    const willing = this.#slots.filter((slot) => !slot.kill());
    if (willing.length === 0) return;
    this.#cancelKill = this.#clock.after(this.#killMarginMs, () => {
      const stuck = willing.filter((slot) => slot.isAlive);
      if (stuck.length > 0) this.#stuck(stuck);
    });
  }

  #stuck(slots: readonly Slot[]): void {
    const onStuck = this.#options.onStuck ?? (() => process.exit(EXIT_STUCK));
    onStuck(slots.map((slot) => slot.spec.id));
  }

  #tooMany({ slot, end }: Event): Error {
    const cause = end.kind === "crashed" ? end.error : undefined;
    return new Error(`${slot.spec.id} cannot be kept alive: more than ${this.#limit.toString()}`, { cause });
  }
}

interface Context {
  readonly term: number;
  readonly lease: LeaseTime;
  readonly aborted: Promise<void>;
}

function isRestarted({ slot, end }: Event): boolean {
  const { restart = "permanent" } = slot.spec;
  return restart === "permanent" || (restart === "transient" && end.kind === "crashed");
}
