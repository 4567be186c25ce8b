/** Laws that only hold if they hold for many at once. */
import assert from "node:assert/strict";
import type { CasOp, CasOutcome, Entry, Revision, Store } from "../store/store.js";
import { Random } from "../testing/random.js";
import { checkProgress, describe, FeedProbe, isRefusal, type Law, snapshot, swap } from "./support.js";

const RACERS = 1000;
const ROUNDS = 5;
const KEYS = ["r/0", "r/1", "r/2", "r/3", "r/4", "r/5", "r/6", "r/7"];

export function raceLaws(law: Law, seed: number): void {
  law("of a thousand racing for one key exactly one wins, round after round", async ({ store, another }) => {
    const stores = store.features.shared ? [store, await another()] : [store];
    let present = await swap(store, "r/a", null, "start");
    for (let round = 0, won = 0; won < ROUNDS; round++) {
      assert(round < 10 * ROUNDS, "the store refuses what nothing stands against");
      const winner = await race(stores, present, `round ${round}`);
      // Every one refused without a cause: the store may, and the race is run again.
      if (winner === null) continue;
      assert.deepEqual((await snapshot(store)).get("r/a"), winner);
      present = winner.revision;
      won++;
    }
  });

  law(`writers at random keep to a naive model (seed ${seed})`, async ({ store, another }) => {
    const stores = store.features.shared ? [store, await another()] : [store];
    const random = new Random(seed);
    const probe = new FeedProbe(store);
    await probe.next();
    const ledger = new Ledger();
    const writers = Array.from({ length: 12 }, (_, i) => {
      return new Writer(stores[i % stores.length] as Store, random.fork(), ledger, i).run(60);
    });
    await Promise.all(writers);
    ledger.checkChains();
    await probe.reach(await store.sync());
    checkProgress(probe.items, ledger.acknowledged);
    await probe.stop();
    const last = new Map(ledger.acknowledged.map((entry) => [entry.key, entry]));
    assert.deepEqual(probe.seen, last);
    for (const each of stores) assert.deepEqual(await snapshot(each), last);
  });
}

/** Exactly one may win; each other writer is shown the winner's entry or the entry that all compared with. */
async function race(stores: readonly Store[], present: Revision, name: string): Promise<Entry | null> {
  const ops = Array.from({ length: RACERS }, (_, i): CasOp => {
    return { key: "r/a", expected: present, value: `${name}, racer ${i}` };
  });
  const sent = ops.map((op, i) => (stores[i % stores.length] as Store).compareAndSet([op]));
  const outcomes = (await Promise.all(sent)).flat();
  let winner: Entry | null = null;
  for (const [i, outcome] of outcomes.entries()) {
    if (outcome.kind !== "swapped") continue;
    assert.equal(winner, null, "two winners");
    winner = { key: "r/a", value: (ops[i] as CasOp).value, revision: outcome.revision };
  }
  for (const [i, outcome] of outcomes.entries()) {
    if (outcome.kind === "swapped" || isRefusal(outcome, ops[i] as CasOp)) continue;
    assert(outcome.kind === "conflict", describe(outcome));
    assert.deepEqual(outcome.current, winner);
  }
  return winner;
}

/** The naive model: every acknowledged write, and the one it replaced. */
class Ledger {
  readonly #writes: (Entry & { readonly replaced: Revision | null })[] = [];
  readonly #latest = new Map<string, Revision>();

  /** In revision order. */
  get acknowledged(): readonly Entry[] {
    return this.#writes
      .map(({ key, value, revision }) => ({ key, value, revision }))
      .toSorted((a, b) => a.revision - b.revision);
  }

  /** The newest acknowledged write of a key: every later read must show it or a later one. */
  floor(key: string): Revision {
    return this.#latest.get(key) ?? 0;
  }

  record(op: CasOp, revision: Revision): void {
    this.#writes.push({ key: op.key, value: op.value, revision, replaced: op.expected });
    this.#latest.set(op.key, Math.max(revision, this.floor(op.key)));
  }

  /** The writes of a key are a chain: each replaced the one before it. */
  checkChains(): void {
    for (const key of KEYS) {
      let before: Revision | null = null;
      const chain = this.#writes.filter((write) => write.key === key);
      for (const { revision, replaced } of chain.toSorted((a, b) => a.revision - b.revision)) {
        assert.equal(
          replaced,
          before,
          `${key} at ${revision} replaced ${replaced}, the one before was ${before}`,
        );
        before = revision;
      }
    }
  }
}

/** Writes batches of random keys, mostly against what it saw last, now and then against something older. */
class Writer {
  readonly #store: Store;
  readonly #random: Random;
  readonly #ledger: Ledger;
  readonly #id: number;
  readonly #seen = new Map<string, Revision>();

  constructor(store: Store, random: Random, ledger: Ledger, id: number) {
    this.#store = store;
    this.#random = random;
    this.#ledger = ledger;
    this.#id = id;
  }

  async run(times: number): Promise<void> {
    for (let i = 0; i < times; i++) {
      const keys = this.#random.shuffle(KEYS).slice(0, this.#random.int(1, 4));
      const batch = keys.map((key): CasOp => {
        const stale = this.#random.chance(0.1);
        return { key, expected: stale ? null : (this.#seen.get(key) ?? null), value: `${this.#id}/${i}` };
      });
      const floors = keys.map((key) => this.#ledger.floor(key));
      const outcomes = await this.#store.compareAndSet(batch);
      for (const [j, op] of batch.entries()) this.#take(op, outcomes[j], floors[j] as Revision);
    }
  }

  #take(op: CasOp, outcome: CasOutcome | undefined, floor: Revision): void {
    if (outcome?.kind === "swapped") {
      assert(outcome.revision > floor);
      this.#ledger.record(op, outcome.revision);
      this.#seen.set(op.key, outcome.revision);
      return;
    }
    assert(outcome?.kind === "conflict", describe(outcome));
    const shown = outcome.current?.revision ?? 0;
    assert(shown >= floor, `${op.key}: a conflict showed ${shown}, ${floor} had been acknowledged before`);
    if (outcome.current !== null) this.#seen.set(op.key, shown);
  }
}
