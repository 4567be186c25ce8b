/** Who asks this peer to stand, and who waits for an attempt. */

export interface Campaign {
  /** Resolves when an attempt that began after the call came to nothing, or to a term that is over. */
  readonly tried: Promise<void>;
  readonly stop: () => void;
}

export interface Attempt {
  /** Aborts when a campaign begins during the attempt or during the wait after it. */
  readonly wake: AbortSignal;
  /** `isRepeated`: the attempt goes on at once, and whoever waits for it waits on. */
  end(isRepeated: boolean): void;
}

export class Campaigns {
  #asking = 0;
  /** Campaigns for which no attempt has begun. */
  #untried: (() => void)[] = [];
  #wake = new AbortController();

  get isAsked(): boolean {
    return this.#asking > 0;
  }

  /** Asks the peer to stand, at once and again, until the campaign is stopped. */
  ask(): Campaign {
    this.#asking++;
    this.wake();
    let isOpen = true;
    const stop = (): void => {
      if (isOpen) this.#asking--;
      isOpen = false;
    };
    const tried = new Promise<void>((resolve) => this.#untried.push(resolve));
    return { tried, stop };
  }

  wake(): void {
    this.#wake.abort();
  }

  /** The loop begins an attempt for everybody who has asked so far. */
  begin(): Attempt {
    this.#wake = new AbortController();
    const trying = this.#untried.splice(0);
    return {
      wake: this.#wake.signal,
      end: (isRepeated) => {
        if (isRepeated) this.#untried.push(...trying);
        else for (const tried of trying) tried();
      },
    };
  }
}
