/** Work done one at a time, in the order in which it was asked for. What fails does not hold up the next. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }

  /** Resolves when everything asked for so far has ended. */
  async settled(): Promise<void> {
    await this.#last;
  }
}
