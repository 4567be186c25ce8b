/** A cost that must not grow with how many there are of something. */
export interface Cliff {
  readonly name: string;
  /** What is counted, in the singular. */
  readonly of: string;
  /** From the smallest to the largest. */
  readonly sizes: readonly number[];
  open(size: number): Promise<MeasuredSize>;
}

/** One size of it, in a process that measures nothing else. */
export interface MeasuredSize {
  /**
   * Each size has equally many in all, in one elector or spread over several that are there at the same time: so caches and
   * the garbage collector cost each of them the same, and their figures are equally certain.
   */
  round(): Promise<Figures>;
}

/** By name: µs of CPU time for one. */
export type Figures = Readonly<Record<string, number>>;

/** CPU time of this process, in µs: what others do on the machine counts little. */
export class CpuTime {
  #us = 0;
  #longestTurnUs = 0;

  get us(): number {
    return this.#us;
  }

  /** Of the event loop. */
  get longestTurnUs(): number {
    return this.#longestTurnUs;
  }

  /** What `work` takes, from its call to its end. */
  async of(work: () => Promise<void>): Promise<void> {
    let ticking = true;
    let turnUs = nowUs();
    const tick = (): void => {
      const us = nowUs();
      this.#longestTurnUs = Math.max(this.#longestTurnUs, us - turnUs);
      turnUs = us;
      if (ticking) setImmediate(tick);
    };
    const beganUs = turnUs;
    setImmediate(tick);
    await work();
    ticking = false;
    tick();
    this.#us += nowUs() - beganUs;
  }
}

function nowUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** Before a measurement, so that it does not pay for what was made before it. */
export function collectGarbage(): void {
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) throw new Error("start it with --expose-gc");
  gc();
}
