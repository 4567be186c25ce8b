import type { Clock } from "@tenure/core";
import type { ChildContext, ChildSpec, RunningChild } from "./child.js";

/** How a child ended by itself. */
export type ChildEnd = { readonly kind: "done" } | { readonly kind: "crashed"; readonly error: unknown };

const DEFAULT_STOP_MS = 5000;

/** What a slot tells its supervisor. */
export interface SlotHooks {
  /** It runs. */
  readonly started: (slot: Slot) => void;
  /** It ended by itself. */
  readonly ended: (slot: Slot, end: ChildEnd) => void;
  /** Its time to end is over, it runs in this thread, and nobody can end it. */
  readonly stuck: (slot: Slot) => void;
}

interface Life {
  readonly ending: AbortController;
  readonly running: Promise<RunningChild>;
  /** It was to be ended by force, perhaps before there was anything to end. */
  isCondemned: boolean;
}

/** The place of one child: at most one life of it at a time. */
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

  /** True while anything of it may run. */
  get isAlive(): boolean {
    return this.#life !== null;
  }

  /** Resolves when it has started, or has failed to: that is a crash. */
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
      // Whatever it has begun and left behind is told too.
      ending.abort();
      // One that was asked to end is nobody's news.
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

  /** Asks it to end, kills it after its time, and resolves when nothing of it is left. */
  async stop(): Promise<void> {
    const life = this.#life;
    if (life === null) return;
    life.ending.abort();
    const cancel = this.#clock.after(this.spec.stopTimeoutMs ?? DEFAULT_STOP_MS, () => {
      if (!this.kill()) this.#hooks.stuck(this);
    });
    try {
      const handle = await life.running;
      // Not waited for: one that is killed may leave the request to end unanswered.
      void (async () => handle.stop?.())().catch(() => {});
      await handle.ended;
    } catch {
      // It has crashed, while it started or while it ended: it has ended.
    } finally {
      cancel();
    }
  }

  /** False if it runs and cannot be ended by force, or not yet. */
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
