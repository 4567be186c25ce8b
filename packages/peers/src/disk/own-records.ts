/**
 * Records of this server alone, in its own store, under keys that elections do not use. All of them are in memory too;
 * a write has lasted before it is shown.
 */
import { BackendUnavailableError, type Revision, type Store } from "@tenure/core";

const PREFIX = "p/";

interface Kept {
  readonly value: unknown;
  readonly revision: Revision;
}

export class OwnRecords {
  readonly #store: Store;
  readonly #kept: Map<string, Kept>;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(store: Store, kept: Map<string, Kept>) {
    this.#store = store;
    this.#kept = kept;
  }

  /** The store stays its owner's. */
  static async open(store: Store): Promise<OwnRecords> {
    return new OwnRecords(store, await read(store));
  }

  get(key: string): unknown {
    return this.#kept.get(key)?.value ?? null;
  }

  /** Those whose key begins so, without what was removed. */
  *under(prefix: string): Iterable<readonly [rest: string, value: unknown]> {
    for (const [key, { value }] of this.#kept) {
      if (key.startsWith(prefix) && value !== null) yield [key.slice(prefix.length), value];
    }
  }

  /** `null` removes. One write after the other; rejects if it is not known to have lasted. */
  put(changes: Readonly<Record<string, unknown>>): Promise<void> {
    const turn = this.#last.then(() => this.#write(changes));
    this.#last = turn.catch(() => {});
    return turn;
  }

  async #write(changes: Readonly<Record<string, unknown>>): Promise<void> {
    const entries = Object.entries(changes);
    const outcomes = await this.#store.compareAndSet(
      entries.map(([key, value]) => ({
        key: PREFIX + key,
        expected: this.#kept.get(key)?.revision ?? null,
        value: JSON.stringify(value),
      })),
    );
    const hasLasted = outcomes.map((outcome, index) => {
      const [key, value] = entries[index] as [string, unknown];
      if (outcome.kind === "swapped") this.#kept.set(key, { value, revision: outcome.revision });
      return outcome.kind === "swapped";
    });
    if (hasLasted.every(Boolean)) return;
    // Some of it may be there: what is, counts from now on.
    const found = await read(this.#store);
    for (const [key, kept] of found) this.#kept.set(key, kept);
    throw new BackendUnavailableError("the server's own records could not be written");
  }
}

async function read(store: Store): Promise<Map<string, Kept>> {
  for await (const item of store.feed()) {
    const own = item.entries.filter(({ key }) => key.startsWith(PREFIX));
    return new Map(
      own.map(({ key, value, revision }) => [
        key.slice(PREFIX.length),
        { value: JSON.parse(value) as unknown, revision },
      ]),
    );
  }
  throw new BackendUnavailableError("the store showed nothing");
}
