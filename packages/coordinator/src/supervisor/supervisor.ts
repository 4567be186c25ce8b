/**
 * Keeps an ordered set of children alive during one leadership: starts them in order, stops them in reverse, and
 * restarts them by their strategy when they end; until it is stopped, or until they cannot be kept alive.
 *
 * Promised: `run` settles only when nothing of any child runs; children that have not ended shortly before the lease
 * does are killed, and nothing is started once it is over. A child that runs in this thread and ignores its signal
 * cannot be killed: then the process has to end (`onStuck`).
 */
import type { LeaseTime } from "@tenure/client";
import { type CancelTimer, type Clock, InvalidRequestError, systemClock } from "@tenure/core";
import { checkInteger, checkKeys, onAbort } from "@tenure/core/internal";
import { checkChildren } from "./check-children.js";
import type { ChildSpec } from "./child.js";
import { RestartLimit, type RestartLimitOptions } from "./restart-limit.js";
import { type ChildEnd, Slot, type SlotHooks } from "./slot.js";

/** Which children are restarted when one ended: only that one; all; that one and those after it. */
export type Strategy = "one_for_one" | "one_for_all" | "rest_for_one";

export interface SupervisorOptions {
  /** The children, in the order of their start; they are stopped in reverse. */
  readonly children: readonly ChildSpec[];
  /** Which children are restarted when one ends. @defaultValue `one_for_one` */
  readonly strategy?: Strategy;
  /** How often children may be restarted before `run` gives up. @defaultValue 3 restarts within 5000 ms */
  readonly intensity?: RestartLimitOptions;
  /**
   * How long before the end of the lease the remaining children are killed, in milliseconds, from 1 to 3,600,000.
   * @defaultValue 50
   */
  readonly killMarginMs?: number;
  /**
   * Called with the ids of children that run in this thread and ignore their signal, when their time to end has passed
   * or the lease is about to end. If it returns while they still run, they may act at the same time as the next
   * leader's children.
   *
   * @defaultValue names them on stderr and ends the process with exit code 70
   */
  readonly onStuck?: ((ids: readonly string[]) => void) | undefined;
  /** Called when a child has started, has crashed, or has started again. Must not throw. @defaultValue none */
  readonly onChild?: ((event: ChildEvent) => void) | undefined;
  /** The source of time, for tests. @defaultValue `systemClock` */
  readonly clock?: Clock;
}

/** What happened to one child in one term. */
export type ChildEvent = { readonly id: string; readonly term: number } & (
  | { readonly kind: "started" }
  /** It ended by itself with an error, or could not be started. */
  | { readonly kind: "crashed"; readonly error: unknown }
  /** It runs again. `end`: how it had ended; `null` if it was only stopped together with another child. */
  | { readonly kind: "restarted"; readonly end: ChildEnd | null }
);

export type SupervisorEnd =
  | { readonly kind: "stopped" }
  /** The child that was restarted too often, and its last error. */
  | { readonly kind: "gave-up"; readonly id: string; readonly error: Error };

const KNOWN: readonly (keyof SupervisorOptions)[] = [
  "children",
  "strategy",
  "intensity",
  "killMarginMs",
  "onStuck",
  "onChild",
  "clock",
];
const STRATEGIES: readonly Strategy[] = ["one_for_one", "one_for_all", "rest_for_one"];
/** EX_SOFTWARE in `sysexits.h`: an internal software error. */
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
  #term = 0;
  /** How the children that are being restarted had ended. */
  #ends = new Map<Slot, ChildEnd | null>();
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
      started: (slot) => {
        const end = this.#ends.get(slot);
        this.#report(slot, end === undefined ? { kind: "started" } : { kind: "restarted", end });
      },
      ended: (slot, end) => {
        if (end.kind === "crashed") this.#report(slot, end);
        this.#events.push({ slot, end });
        this.#wake();
      },
      stuck: (slot) => this.#stuck([slot]),
    };
    this.#slots = children.map((spec) => new Slot(spec, clock, hooks));
  }

  /** The ids of the children that run. */
  get running(): readonly string[] {
    return this.#slots.filter((slot) => slot.isAlive).map((slot) => slot.spec.id);
  }

  async run(term: number, signal: AbortSignal, lease: LeaseTime): Promise<SupervisorEnd> {
    this.#events = [];
    this.#term = term;
    this.#ends = new Map();
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
        if (!this.#limit.admit()) {
          return { kind: "gave-up", id: event.slot.spec.id, error: this.#tooMany(event) };
        }
        const affected = this.#affected(event.slot);
        for (const slot of affected) this.#ends.set(slot, slot === event.slot ? event.end : null);
        await this.#stop(affected);
        // Reports of these children from before they were stopped are settled by that.
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
      // After a pause of this process the clock may show the end before the signal aborts.
      if (signal.aborted || context.lease.leftMs() <= 0) return;
      await Promise.race([slot.start(context), context.aborted]);
    }
  }

  async #stop(slots: readonly Slot[]): Promise<void> {
    for (const slot of slots.toReversed()) await slot.stop();
  }

  /** Renewals may move the end of the lease while the children end, so it checks again. */
  #killInTime(lease: LeaseTime): void {
    const leftMs = lease.leftMs() - this.#killMarginMs;
    if (leftMs <= 0) return this.#kill();
    this.#cancelKill = this.#clock.after(leftMs, () => this.#killInTime(lease));
  }

  /** A child that cannot be killed has until the end of the lease to react to its signal. */
  #kill(): void {
    const willing = this.#slots.filter((slot) => !slot.kill());
    if (willing.length === 0) return;
    this.#cancelKill = this.#clock.after(this.#killMarginMs, () => {
      const stuck = willing.filter((slot) => slot.isAlive);
      if (stuck.length > 0) this.#stuck(stuck);
    });
  }

  #stuck(slots: readonly Slot[]): void {
    const { onStuck = endProcess } = this.#options;
    onStuck(slots.map((slot) => slot.spec.id));
  }

  #report({ spec }: Slot, what: ChildEventKind): void {
    this.#options.onChild?.({ id: spec.id, term: this.#term, ...what });
  }

  #tooMany({ slot, end }: Event): Error {
    const cause = end.kind === "crashed" ? end.error : undefined;
    return new Error(`${slot.spec.id} cannot be kept alive: more than ${this.#limit.toString()}`, { cause });
  }
}

type ChildEventKind = ChildEvent extends infer E
  ? E extends unknown
    ? Omit<E, "id" | "term">
    : never
  : never;

/** Ends the process before another node can lead, and logs why. */
function endProcess(ids: readonly string[]): void {
  const what = `${ids.join(", ")} did not end in time and cannot be ended from outside; this process ends with code ${EXIT_STUCK}`;
  const next =
    "Let the child end when context.signal aborts, make it a processChild or workerChild, or give onStuck";
  process.stderr.write(`tenure: ${what}. ${next}.\n`);
  process.exit(EXIT_STUCK);
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
