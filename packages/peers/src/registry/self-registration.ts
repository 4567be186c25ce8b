import { type Clock, sleep } from "@tenure/core";
import { unlessAborted } from "@tenure/core/internal";

export interface SelfRegistrationOptions {
  readonly clock: Clock;
  readonly intervalMs: number;
  /** The pause after a round in which a member did not confirm. */
  readonly retryMs: number;
  /** The active members, or the join targets while there are none. */
  readonly targets: () => readonly string[];
  readonly register: (endpoint: string) => Promise<void>;
  /** Takes changes made while this server was away. Resolves to the members at which this server is registered. */
  readonly catchUp: () => Promise<ReadonlySet<string>>;
  /** False while this server leaves. */
  readonly isWanted: () => boolean;
  readonly onFailure: (endpoint: string, cause: unknown) => void;
  readonly onSuccess: (endpoint: string) => void;
}

/**
 * Registers this server as a resource manager at every member, repeatedly. One member at a time: each of them informs
 * all the others, and all at once would cause a burst of calls. A member that shows the registration is not asked
 * again: with n servers that would be n³ calls each time.
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
    const { clock, intervalMs, retryMs, targets, register, catchUp, isWanted } = this.#options;
    const { onFailure, onSuccess } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const has = await unlessAborted(signal, catchUp()).catch((): ReadonlySet<string> => new Set());
      let isDone = true;
      for (const endpoint of targets()) {
        if (signal.aborted) return;
        if (!isWanted()) break;
        if (has.has(endpoint)) {
          onSuccess(endpoint);
          continue;
        }
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
