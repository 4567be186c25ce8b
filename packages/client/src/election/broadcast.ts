import { onAbort } from "@tenure/core/internal";
import { SlowReaderError } from "./errors.js";

/** A reader this far behind gets an error, rather than growing in memory for ever. */
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

  /** Ends the present readers, and those who come before it begins again. Listeners stay. */
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

  /** Called at each event, within `emit`, until what is returned is called. It must not throw. */
  listen(listener: (event: T) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Registered at once, so that nothing is missed between the call and the first pull. */
  read(signal?: AbortSignal): AsyncIterableIterator<T> {
    const reader: Reader<T> = { waiting: [], hasEnded: this.#ended, wake() {} };
    this.#readers.add(reader);
    const stopListening = onAbort(signal, () => reader.wake());
    return this.#pull(reader, signal, () => {
      stopListening();
      this.#readers.delete(reader);
    });
  }

  async *#pull(reader: Reader<T>, signal: AbortSignal | undefined, leave: () => void): AsyncGenerator<T> {
    try {
      for (;;) {
        signal?.throwIfAborted();
        if (reader.waiting.length > MAX_WAITING) {
          throw new SlowReaderError(`more than ${MAX_WAITING} events wait to be read; read them faster`);
        }
        if (reader.waiting.length > 0) yield reader.waiting.shift() as T;
        else if (reader.hasEnded) return;
        else {
          await new Promise<void>((resolve) => {
            reader.wake = resolve;
          });
        }
      }
    } finally {
      leave();
    }
  }
}
