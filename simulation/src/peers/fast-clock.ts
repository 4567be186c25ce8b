import type { CancelTimer, Clock } from "@tenure/core";

/** A day of retention passes in some seconds of a schedule: the same clock, so many times as fast. */
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
