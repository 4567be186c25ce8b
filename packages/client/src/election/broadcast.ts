import { type Wakeup, WakeupIterator } from "@tenure/core/internal";
import { SlowReaderError } from "./errors.js";

/** A reader that is further behind than this gets an error, so that memory stays bounded. */
const MAX_WAITING = 1024;

interface Reader<T> {
  readonly waiting: T[];
  hasEnded: boolean;
  wake: () => void;
}

/** Each reader gets every event from its first pull on, in order, until the end. */
export class Broadcast<T> {
  readonly #readers = new Set<Reader<T>>();
  readonly #listeners = new Set<(event: T) => void>();
  #ended = false;

  emit(event: T): void {
    for (const reader of this.#readers) {
      if (reader.waiting.length <= MAX_WAITING) reader.waiting.push(event);
      reader.wake();
    }
    for (const listener of this.#listeners) listener(event);
  }

  /** Ends the current readers, and new ones until the broadcast begins again. Listeners stay. */
  end(): void {
    this.#ended = true;
    for (const reader of this.#readers) {
      reader.hasEnded = true;
      reader.wake();
    }
  }

  begin(): void {
    this.#ended = false;
  }

  /** Called at each event, within `emit`, until the returned function is called. It must not throw. */
  listen(listener: (event: T) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Registered at once, so that nothing is missed between the call and the first pull. */
  read(signal?: AbortSignal): AsyncIterableIterator<T> {
    return new WakeupIterator([signal], (wakeup) => {
      const reader: Reader<T> = { waiting: [], hasEnded: this.#ended, wake() {} };
      wakeup.listenTo((wake) => {
        reader.wake = wake;
        this.#readers.add(reader);
        return () => this.#readers.delete(reader);
      });
      return pull(reader, wakeup);
    });
  }
}

async function* pull<T>(reader: Reader<T>, wakeup: Wakeup): AsyncGenerator<T, undefined> {
  try {
    for (;;) {
      wakeup.throwIfOver();
      if (reader.waiting.length > MAX_WAITING) {
        throw new SlowReaderError(`more than ${MAX_WAITING} events wait to be read; read them faster`);
      }
      if (reader.waiting.length > 0) yield reader.waiting.shift() as T;
      else if (reader.hasEnded) return;
      else await wakeup.wait();
    }
  } finally {
    wakeup.remove();
  }
}
