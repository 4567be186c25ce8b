import type { Clock } from "@tenure/core";
import type { Patience } from "./patience.js";

export interface SilenceParts {
  readonly clock: Clock;
  readonly patience: Patience;
  /** It has lasted for `quietMs` (true), or something was heard after that (false). */
  readonly quiet: (isQuiet: boolean) => void;
  /** It has lasted for `silenceMs`. */
  readonly tooLong: () => void;
}

/** The silence of a server, from when it has been listened to. */
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
        // After a pause of this process something may be here already, unread.
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

  /** Nobody listens any more. */
  end(): void {
    this.#cancel();
  }

  #report(isQuiet: boolean): void {
    if (isQuiet === this.#isQuiet) return;
    this.#isQuiet = isQuiet;
    this.#parts.quiet(isQuiet);
  }
}
