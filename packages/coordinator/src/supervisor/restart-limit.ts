import { type Clock, InvalidRequestError } from "@tenure/core";
import { checkInteger, checkKeys, isObject } from "@tenure/core/internal";

export interface RestartLimitOptions {
  /**
   * The largest number of restarts within `withinMs`, from 0 to 1,000,000. Too small: a single short failure gives up.
   * @defaultValue 3
   */
  readonly maxRestarts?: number;
  /** The time in which restarts are counted, in milliseconds, from 1 to 86,400,000. @defaultValue 5000 */
  readonly withinMs?: number;
}

/** Distinguishes a child that crashes occasionally from one that cannot be kept alive. */
export class RestartLimit {
  readonly #clock: Clock;
  readonly #maxRestarts: number;
  readonly #withinMs: number;
  #restartsAtMs: number[] = [];

  constructor(given: RestartLimitOptions | undefined, clock: Clock) {
    if (given !== undefined && !isObject(given))
      throw new InvalidRequestError("intensity", "must be an object");
    const options: RestartLimitOptions = given ?? {};
    checkKeys(options, "intensity", ["maxRestarts", "withinMs"]);
    this.#clock = clock;
    this.#maxRestarts = checkInteger(options.maxRestarts ?? 3, "intensity.maxRestarts", 0, 1_000_000);
    this.#withinMs = checkInteger(options.withinMs ?? 5000, "intensity.withinMs", 1, 86_400_000);
  }

  /** Counts one more restart. False if that is too many. */
  admit(): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#restartsAtMs = this.#restartsAtMs.filter((atMs) => nowMs - atMs < this.#withinMs);
    this.#restartsAtMs.push(nowMs);
    return this.#restartsAtMs.length <= this.#maxRestarts;
  }

  toString(): string {
    return `${this.#maxRestarts} restarts within ${this.#withinMs} ms`;
  }
}
