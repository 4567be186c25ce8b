/**
 * Records of this server alone, in its own store, under keys that elections do not use. All of them are also in memory;
 * a write is durable before it is shown.
 *
 * A store never deletes a key. So records lie in numbered slots, and the slot of a removed record is used again: the
 * store grows with what is kept at once, not with what was ever kept.
 */
import { BackendUnavailableError, type Revision, type Store } from "@tenure/core";
import { isObject } from "@tenure/core/internal";
import { SerialQueue } from "../serial-queue.js";

const PREFIX = "p/";

interface Slot {
  readonly name: string;
  /** `null`: never written. */
  readonly revision: Revision | null;
}

interface Kept {
  readonly slot: Slot;
  /** `null`: the slot is reserved for this key, and nothing is known to be in it. */
  readonly value: unknown;
}

interface Contents {
  readonly kept: Map<string, Kept>;
  readonly free: Map<string, Slot>;
  /** The lowest number that no slot has. */
  readonly next: number;
}

export class OwnRecords {
  readonly #store: Store;
  #contents: Contents;
  #next: number;
  readonly #queue = new SerialQueue();

  private constructor(store: Store, contents: Contents) {
    this.#store = store;
    this.#contents = contents;
    this.#next = contents.next;
  }

  /** The store is not closed here. */
  static async open(store: Store): Promise<OwnRecords> {
    return new OwnRecords(store, await read(store));
  }

  get(key: string): unknown {
    return this.#contents.kept.get(key)?.value ?? null;
  }

  /** The records whose key begins with `prefix`, without those that were removed. */
  *under(prefix: string): Iterable<readonly [rest: string, value: unknown]> {
    for (const [key, { value }] of this.#contents.kept) {
      if (value !== null && key.startsWith(prefix)) yield [key.slice(prefix.length), value];
    }
  }

  /** `null` removes a record. One write at a time; rejects if the write is not known to be durable. */
  put(changes: Readonly<Record<string, unknown>>): Promise<void> {
    return this.#queue.run(() => this.#write(changes));
  }

  async #write(changes: Readonly<Record<string, unknown>>): Promise<void> {
    const entries = Object.entries(changes).filter(
      ([key, value]) => value !== null || this.#contents.kept.has(key),
    );
    const { batchOps } = this.#store.limits;
    for (let from = 0; from < entries.length; from += batchOps) {
      await this.#writeBatch(entries.slice(from, from + batchOps));
    }
  }

  async #writeBatch(entries: readonly (readonly [string, unknown])[]): Promise<void> {
    const outcomes = await this.#store.compareAndSet(
      entries.map(([key, value]) => {
        const { name, revision } = this.#slotFor(key);
        return {
          key: name,
          expected: revision,
          value: JSON.stringify(value === null ? null : { key, value }),
        };
      }),
    );
    const { kept, free } = this.#contents;
    const hasLasted = outcomes.map((outcome, index) => {
      const [key, value] = entries[index] as readonly [string, unknown];
      if (outcome.kind !== "swapped") return false;
      const slot = { name: this.#slotFor(key).name, revision: outcome.revision };
      if (value === null) {
        kept.delete(key);
        free.set(slot.name, slot);
      } else kept.set(key, { slot, value });
      return true;
    });
    if (hasLasted.every(Boolean)) return;
    await this.#lookAgain();
    throw new BackendUnavailableError("the server's own records could not be written");
  }

  #slotFor(key: string): Slot {
    const { kept, free } = this.#contents;
    const known = kept.get(key);
    if (known !== undefined) return known.slot;
    const [slot = { name: `${PREFIX}${this.#next++}`, revision: null }] = free.values();
    free.delete(slot.name);
    kept.set(key, { slot, value: null });
    return slot;
  }

  /**
   * Some of what failed may have been written: that counts from now on. What was not written may still arrive, so its
   * slot stays reserved for the same key: one key is never in two slots.
   */
  async #lookAgain(): Promise<void> {
    const found = await read(this.#store);
    const taken = new Set([...found.kept.values()].map(({ slot }) => slot.name));
    for (const [key, { slot }] of this.#contents.kept) {
      if (found.kept.has(key) || taken.has(slot.name)) continue;
      const now = found.free.get(slot.name) ?? { name: slot.name, revision: null };
      found.free.delete(slot.name);
      found.kept.set(key, { slot: now, value: null });
    }
    this.#contents = found;
    this.#next = Math.max(this.#next, found.next);
  }
}

async function read(store: Store): Promise<Contents> {
  for await (const { entries } of store.feed()) {
    const kept = new Map<string, Kept>();
    const free = new Map<string, Slot>();
    let next = 0;
    for (const { key: name, value: text, revision } of entries) {
      const number = /^p\/(\d+)$/.exec(name)?.[1];
      if (number === undefined) continue;
      next = Math.max(next, Number(number) + 1);
      const record: unknown = JSON.parse(text);
      if (!isObject(record)) free.set(name, { name, revision });
      else kept.set(String(record["key"]), { slot: { name, revision }, value: record["value"] });
    }
    return { kept, free, next };
  }
  throw new BackendUnavailableError("the store's feed ended without an item");
}
