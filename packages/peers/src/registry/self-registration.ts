import { type Clock, sleep, unlessAborted } from "@tenure/core";

export interface SelfRegistrationOptions {
  readonly clock: Clock;
  readonly intervalMs: number;
  /** After a round in which some member did not confirm. */
  readonly retryMs: number;
  /** The active members, or the join targets while there are none. */
  readonly targets: () => readonly string[];
  readonly register: (endpoint: string) => Promise<void>;
  /** Takes what was changed while this server was away. */
  readonly catchUp: () => Promise<void>;
  readonly onFailure: (endpoint: string, cause: unknown) => void;
  readonly onSuccess: (endpoint: string) => void;
}

/**
 * Registers this server as a resource manager at every member, again and again. One after the other: each of them tells all
 * the others, and all at once would be a storm.
 */
export class SelfRegistration {
  readonly #options: SelfRegistrationOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(options: SelfRegistrationOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the server stops"));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, intervalMs, retryMs, targets, register, catchUp, onFailure, onSuccess } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await unlessAborted(signal, catchUp()).catch(() => {});
      let isDone = true;
      for (const endpoint of targets()) {
        if (signal.aborted) return;
        await unlessAborted(signal, register(endpoint)).then(
          () => onSuccess(endpoint),
          (cause: unknown) => {
            isDone = false;
            if (!signal.aborted) onFailure(endpoint, cause);
          },
        );
      }
      await sleep(clock, isDone ? intervalMs : retryMs, signal).catch(() => {});
    }
  }
}
