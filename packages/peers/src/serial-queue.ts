/** Runs work one at a time, in the order of the calls. A failure does not stop the next. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }

  /** Resolves when everything queued so far has ended. */
  async settled(): Promise<void> {
    await this.#last;
  }
}
