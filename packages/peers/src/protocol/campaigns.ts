/** The callers that ask this peer to campaign, and those that wait for an attempt. */

export interface Campaign {
  /** Resolves when an attempt that began after the call has failed, or has won a term that is over. */
  readonly tried: Promise<void>;
  readonly stop: () => void;
}

export interface Attempt {
  /** Aborts when a campaign begins during the attempt or during the wait after it. */
  readonly wake: AbortSignal;
  /** `isRepeated`: the attempt continues at once, and callers that wait for it keep waiting. */
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

  /** Asks the peer to campaign, at once and repeatedly, until the campaign is stopped. */
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

  /** The loop begins an attempt for all callers that have asked so far. */
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
