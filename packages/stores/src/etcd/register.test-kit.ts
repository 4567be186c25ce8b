/** Registers that several writers change by compare-and-set, and what must hold of everything that was seen. */
import assert from "node:assert/strict";
import type { CasOp, Entry, Revision, Store } from "@tenure/core";
import { swap } from "./etcd.test-kit.js";

/** Every write that was seen or acknowledged. Each value is written once and names the revision that it replaces. */
export class History {
  readonly #byRevision = new Map<string, Entry>();
  readonly #successors = new Map<string, Revision>();
  readonly #acknowledged = new Map<string, Revision>();
  readonly #written = new Set<string>();
  readonly #refused = new Set<string>();

  /** A revision of a key has one value, and at most one that replaced it. */
  readonly see = (entry: Entry): void => {
    const { key, value, revision } = entry;
    const known = this.#byRevision.get(`${key}@${revision}`);
    if (known !== undefined) return assert.deepEqual(entry, known);
    this.#byRevision.set(`${key}@${revision}`, entry);
    this.#written.add(value);
    this.#checkRefused(value);
    const { replaces } = JSON.parse(value) as { readonly replaces: Revision | null };
    assert(revision > (replaces ?? 0), `${key} at ${revision} replaced ${replaces}`);
    assert(!this.#successors.has(`${key}@${replaces}`), `two replaced ${key} at ${replaces}`);
    this.#successors.set(`${key}@${replaces}`, revision);
  };

  acknowledge(entry: Entry): void {
    this.see(entry);
    this.#acknowledged.set(entry.key, Math.max(entry.revision, this.#acknowledged.get(entry.key) ?? 0));
  }

  /** Answered that it was not written, so it never must be. */
  refuse(value: string): void {
    this.#refused.add(value);
    this.#checkRefused(value);
  }

  /** Every acknowledged write is there now, or was replaced. */
  checkAgainst(entries: ReadonlyMap<string, Entry>): void {
    for (const entry of entries.values()) this.see(entry);
    for (const [key, revision] of this.#acknowledged) {
      const found = entries.get(key)?.revision ?? 0;
      assert(found >= revision, `${key} at ${revision} was acknowledged, and ${found} is there`);
    }
  }

  #checkRefused(value: string): void {
    assert(!(this.#refused.has(value) && this.#written.has(value)), `${value} was refused, and yet written`);
  }
}

/** Writes a key repeatedly, whatever happens. */
export class RegisterWriter {
  acknowledged = 0;
  readonly #store: Store;
  readonly #history: History;
  readonly #id: string;
  readonly #done: Promise<void>;
  #isStopped = false;

  constructor(store: Store, history: History, key: string, id: string) {
    this.#store = store;
    this.#history = history;
    this.#id = id;
    this.#done = this.#run(key);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#done;
  }

  async #run(key: string): Promise<void> {
    let expected: Revision | null = null;
    for (let i = 0; !this.#isStopped; i++) {
      const op: CasOp = {
        key,
        expected,
        value: JSON.stringify({ by: `${this.#id}/${i}`, replaces: expected }),
      };
      const outcome = await swap(this.#store, op);
      if (outcome.kind === "swapped") {
        this.#history.acknowledge({ key, value: op.value, revision: outcome.revision });
        this.acknowledged++;
        expected = outcome.revision;
      } else if (outcome.kind === "conflict") {
        const current: Entry | null = outcome.current;
        assert.notEqual(current?.revision ?? null, expected, "refused without a cause");
        expected = current?.revision ?? null;
        if (current !== null) this.#history.see(current);
        this.#history.refuse(op.value);
      } else if (outcome.kind === "refused") {
        this.#history.refuse(op.value);
      }
    }
  }
}
