import type { CasOp, CasOutcome, Entry, Revision } from "@tenure/core";

export interface Decision {
  readonly outcomes: CasOutcome[];
  /** To be written, in revision order. */
  readonly written: readonly Entry[];
  /** Some outcome speaks of an entry that is not on disk yet. */
  readonly isAhead: boolean;
}

/**
 * The entries in memory: what is on disk, and over it what is on its way there. Comparisons are decided here, on the
 * newest of both, one after the other; only what is on disk is ever shown to anybody.
 */
export class EntryTable {
  readonly #settled: Map<string, Entry>;
  readonly #pending = new Map<string, Entry>();
  #revision: Revision;
  #assigned: Revision;

  constructor(entries: Map<string, Entry>, revision: Revision) {
    this.#settled = entries;
    this.#revision = revision;
    this.#assigned = revision;
  }

  /** Everything at or below it is on disk. */
  get revision(): Revision {
    return this.#revision;
  }

  decide(batch: readonly CasOp[]): Decision {
    const written: Entry[] = [];
    let isAhead = false;
    const outcomes = batch.map((op): CasOutcome => {
      const pending = this.#pending.get(op.key);
      const current = pending ?? this.#settled.get(op.key) ?? null;
      if ((current?.revision ?? null) !== op.expected) {
        if (pending !== undefined) isAhead = true;
        return { kind: "conflict", current };
      }
      const entry: Entry = { key: op.key, value: op.value, revision: ++this.#assigned };
      this.#pending.set(op.key, entry);
      written.push(entry);
      return { kind: "swapped", revision: entry.revision };
    });
    return { outcomes, written, isAhead };
  }

  /** They are on disk now. */
  settle(written: readonly Entry[]): void {
    for (const entry of written) {
      this.#settled.set(entry.key, entry);
      if (this.#pending.get(entry.key) === entry) this.#pending.delete(entry.key);
      this.#revision = entry.revision;
    }
  }

  snapshot(): { readonly entries: readonly Entry[]; readonly revision: Revision } {
    return { entries: [...this.#settled.values()], revision: this.#revision };
  }
}
