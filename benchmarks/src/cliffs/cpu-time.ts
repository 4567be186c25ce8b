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
