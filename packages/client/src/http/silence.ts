import type { Clock } from "@tenure/core";
import type { Patience } from "./patience.js";

export interface SilenceParts {
  readonly clock: Clock;
  readonly patience: Patience;
  /** Called with true when the silence has lasted for `quietMs`, and with false when something was heard after that. */
  readonly quiet: (isQuiet: boolean) => void;
  /** Called when the silence has lasted for `silenceMs`. */
  readonly tooLong: () => void;
}

/** Measures how long a server has been silent, from when this process began to listen. */
export class Silence {
  readonly #parts: SilenceParts;
  #isQuiet = false;
  #cancel = (): void => {};

  constructor(parts: SilenceParts) {
    this.#parts = parts;
    this.begin();
  }

  begin(): void {
    const { clock, patience, tooLong } = this.#parts;
    let isOver = false;
    const after = (delayMs: number, act: () => void) =>
      clock.after(delayMs, () =>
        // After a pause of this process something may have arrived that was not read yet.
        clock.soon(() => {
          if (!isOver) act();
        }),
      );
    const cancels = [after(patience.silenceMs, tooLong)];
    if (patience.quietMs <= patience.silenceMs)
      cancels.push(after(patience.quietMs, () => this.#report(true)));
    this.#cancel = () => {
      isOver = true;
      for (const cancel of cancels) cancel();
    };
  }

  /** Something was heard. */
  break(): void {
    this.#cancel();
    this.#report(false);
  }

  /** The reader has left. */
  end(): void {
    this.#cancel();
  }

  #report(isQuiet: boolean): void {
    if (isQuiet === this.#isQuiet) return;
    this.#isQuiet = isQuiet;
    this.#parts.quiet(isQuiet);
  }
}
