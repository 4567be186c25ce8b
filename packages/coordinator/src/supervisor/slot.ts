import type { Clock } from "@tenure/core";
import type { ChildContext, ChildSpec, RunningChild } from "./child.js";

/** How a child ended by itself. */
export type ChildEnd = { readonly kind: "done" } | { readonly kind: "crashed"; readonly error: unknown };

const DEFAULT_STOP_MS = 5000;

/** What a slot reports to its supervisor. */
export interface SlotHooks {
  /** The child runs. */
  readonly started: (slot: Slot) => void;
  /** The child ended by itself. */
  readonly ended: (slot: Slot, end: ChildEnd) => void;
  /** The child's time to end has passed, it runs in this thread, and it cannot be killed. */
  readonly stuck: (slot: Slot) => void;
}

interface Life {
  readonly ending: AbortController;
  readonly running: Promise<RunningChild>;
  /** The child was to be killed, possibly before the child had started. */
  isCondemned: boolean;
}

/** The place of one child. At most one run of the child exists at a time. */
export class Slot {
  readonly spec: ChildSpec;
  readonly #clock: Clock;
  readonly #hooks: SlotHooks;
  #life: Life | null = null;
  #handle: RunningChild | null = null;

  constructor(spec: ChildSpec, clock: Clock, hooks: SlotHooks) {
    this.spec = spec;
    this.#clock = clock;
    this.#hooks = hooks;
  }

  /** True while a run of the child may exist. */
  get isAlive(): boolean {
    return this.#life !== null;
  }

  /** Resolves when the child has started or has failed to start, which is a crash. */
  async start({ term, lease }: Omit<ChildContext, "signal">): Promise<void> {
    const ending = new AbortController();
    const running = (async () => this.spec.start({ term, lease, signal: ending.signal }))();
    const life: Life = { ending, running, isCondemned: false };
    this.#life = life;
    const end = (outcome: ChildEnd) => {
      if (this.#life !== life) return;
      this.#life = null;
      this.#handle = null;
      const wasAsked = ending.signal.aborted;
      // The signal also ends what the child has begun and left behind.
      ending.abort();
      // The end of a child that was asked to end is not reported.
      if (!wasAsked) this.#hooks.ended(this, outcome);
    };
    try {
      const handle = await running;
      this.#handle = handle;
      this.#hooks.started(this);
      handle.ended.then(
        () => end({ kind: "done" }),
        (error: unknown) => end({ kind: "crashed", error }),
      );
      if (life.isCondemned) handle.kill?.();
    } catch (error) {
      end({ kind: "crashed", error });
    }
  }

  /** Asks the child to end, kills the child after `stopTimeoutMs`, and resolves when the child has ended. */
  async stop(): Promise<void> {
    const life = this.#life;
    if (life === null) return;
    life.ending.abort();
    const cancel = this.#clock.after(this.spec.stopTimeoutMs ?? DEFAULT_STOP_MS, () => {
      if (!this.kill()) this.#hooks.stuck(this);
    });
    try {
      const handle = await life.running;
      // Not awaited: a child that is killed may never answer the request to end.
      void (async () => handle.stop?.())().catch(() => {});
      await handle.ended;
    } catch {
      // A child that crashed while it started or stopped has ended.
    } finally {
      cancel();
    }
  }

  /** False if the child runs and cannot be killed, or has not started yet. */
  kill(): boolean {
    const life = this.#life;
    if (life === null) return true;
    life.isCondemned = true;
    life.ending.abort();
    if (this.#handle?.kill === undefined) return false;
    this.#handle.kill();
    return true;
  }
}
