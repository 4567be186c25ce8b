import type { CancelTimer, Clock } from "@tenure/core";

/** The same clock at a multiple of its speed, so that a day of retention passes within seconds of a schedule. */
export class FastClock implements Clock {
  readonly #clock: Clock;
  readonly #speed: number;

  constructor(clock: Clock, speed: number) {
    this.#clock = clock;
    this.#speed = speed;
  }

  get bootTickMs(): number {
    return this.#clock.bootTickMs * this.#speed;
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs() * this.#speed;
  }

  bootMs(): number {
    return this.#clock.bootMs() * this.#speed;
  }

  wallMs(): number {
    return this.#clock.wallMs();
  }

  soon(callback: () => void): void {
    this.#clock.soon(callback);
  }

  after(delayMs: number, callback: () => void): CancelTimer {
    return this.#clock.after(delayMs / this.#speed, callback);
  }
}
