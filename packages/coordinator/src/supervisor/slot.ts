import type { Clock } from "@tenure/core";
import type { ChildContext, ChildSpec, RunningChild } from "./child.js";

/** How a child ended by itself. */
export type ChildEnd = { readonly kind: "done" } | { readonly kind: "crashed"; readonly error: unknown };

const DEFAULT_STOP_MS = 5000;

/** The place of one child: at most one life of it at a time. */
export class Slot {
  readonly spec: ChildSpec;
  readonly #clock: Clock;
  readonly #ended: (slot: Slot, end: ChildEnd) => void;
  #life: { readonly ending: AbortController; readonly running: Promise<RunningChild> } | null = null;
  #handle: RunningChild | null = null;

  constructor(spec: ChildSpec, clock: Clock, ended: (slot: Slot, end: ChildEnd) => void) {
    this.spec = spec;
    this.#clock = clock;
    this.#ended = ended;
  }

  /** True while anything of it may run. */
  get isAlive(): boolean {
    return this.#life !== null;
  }

  /** Resolves when it has started, or has failed to: that is a crash. */
  async start({ term, lease }: Omit<ChildContext, "signal">): Promise<void> {
    const ending = new AbortController();
    const running = (async () => this.spec.start({ term, lease, signal: ending.signal }))();
    const life = { ending, running };
    this.#life = life;
    const end = (outcome: ChildEnd) => {
      if (this.#life !== life) return;
      this.#life = null;
      this.#handle = null;
      // One that was asked to end is nobody's news.
      if (!ending.signal.aborted) this.#ended(this, outcome);
    };
    try {
      const handle = await running;
      this.#handle = handle;
      handle.ended.then(
        () => end({ kind: "done" }),
        (error: unknown) => end({ kind: "crashed", error }),
      );
    } catch (error) {
      end({ kind: "crashed", error });
    }
  }

  /** Asks it to end, kills it after its time, and resolves when nothing of it is left. */
  async stop(): Promise<void> {
    const life = this.#life;
    if (life === null) return;
    life.ending.abort();
    const handle = await life.running.catch(() => null);
    if (handle === null) return;
    const cancel = this.#clock.after(this.spec.stopTimeoutMs ?? DEFAULT_STOP_MS, () => handle.kill?.());
    try {
      await handle.stop?.();
    } catch {
      // It ends all the same, or is killed.
    }
    await handle.ended.catch(() => {});
    cancel();
  }

  /** False if it runs and cannot be ended by force. */
  kill(): boolean {
    if (this.#life === null) return true;
    this.#life.ending.abort();
    if (this.#handle?.kill === undefined) return false;
    this.#handle.kill();
    return true;
  }
}
