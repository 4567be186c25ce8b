/** Laws of abort and close, and of what is there after reopening. */
import assert from "node:assert/strict";
import { ClosedError } from "../errors.js";
import type { CasOp, CasOutcome, Revision, Store } from "../store/store.js";
import { describe, FeedProbe, isRefusal, type Law, only, snapshot, swap } from "./support.js";

/** How many turns of the microtask queue after the call the abort or close comes: at once, soon, later. */
const TURNS = [0, 1, 2, 3, 5, 8, 13, 21, 34, 55];
const SETTLING_TURNS = 20;

export function abortLaws(law: Law): void {
  law(
    "a call whose signal is aborted already rejects with the reason, and writes nothing",
    async ({ store }) => {
      const reason = new Error("too late");
      const signal = AbortSignal.abort(reason);
      const batch = [{ key: "r/a", expected: null, value: "1" }];
      await assert.rejects(store.compareAndSet(batch, { signal }), reason);
      await assert.rejects(store.sync({ signal }), reason);
      assert.equal((await snapshot(store)).size, 0);
    },
  );

  law("a write aborted in the middle is answered or uncertain, and a read shows which", async ({ store }) => {
    let present: Revision | null = null;
    for (const turns of TURNS) {
      const controller = new AbortController();
      const reason = new Error(`aborted after ${turns} turns`);
      const op: CasOp = { key: "r/a", expected: present, value: `${turns}` };
      const sent = store.compareAndSet([op], { signal: controller.signal });
      await abortAfter(turns, controller, reason);
      present = await settle(store, op, await outcomeOf(sent, reason));
    }
  });

  law("a sync aborted in the middle answers or rejects with the reason", async ({ store }) => {
    const revision = await swap(store, "r/a", null, "1");
    for (const turns of TURNS) {
      const controller = new AbortController();
      const reason = new Error(`aborted after ${turns} turns`);
      const synced = store.sync({ signal: controller.signal }).catch((error: unknown) => error);
      await abortAfter(turns, controller, reason);
      const answer = await synced;
      if (typeof answer === "number") assert(answer >= revision);
      else assert.equal(answer, reason);
    }
    assert((await store.sync()) >= revision);
  });
}

export function closeLaws(law: Law): void {
  law("close may be called again, and everything after it is refused", async ({ store }) => {
    const unread = new FeedProbe(store);
    await Promise.all([store.close(), store.close()]);
    await store.close();
    await store[Symbol.asyncDispose]();
    await assert.rejects(store.compareAndSet([{ key: "r/a", expected: null, value: "1" }]), ClosedError);
    await assert.rejects(store.sync(), ClosedError);
    await assert.rejects(new FeedProbe(store).next(), ClosedError);
    await assert.rejects(unread.next(), ClosedError);
  });

  law("close ends the feeds that wait, with ClosedError", async ({ store }) => {
    const probes = [new FeedProbe(store), new FeedProbe(store)];
    const endings = [];
    for (const probe of probes) {
      await probe.next();
      endings.push(assert.rejects(probe.reach(Number.MAX_SAFE_INTEGER), ClosedError));
    }
    await store.close();
    await Promise.all(endings);
  });

  law("close during a sync lets it answer or refuses it", async ({ store }) => {
    const synced = store.sync().catch((error: unknown) => error);
    await store.close();
    const answer = await synced;
    assert(typeof answer === "number" || answer instanceof ClosedError, String(answer));
  });

  law("close waits for the writes in flight", async ({ store }) => {
    let told: PromiseSettledResult<CasOutcome[]>[] | null = null;
    const outcomes = sendAll(store, creations("r", 20)).then((all) => (told = all));
    await store.close();
    // Answered before close returned: nothing but the caller's own turns may lie between.
    await turnsOf(SETTLING_TURNS);
    assert.notEqual(told, null, "closed, and a write is still under way");
    for (const outcome of await outcomes) {
      if (outcome.status === "rejected")
        assert(outcome.reason instanceof ClosedError, String(outcome.reason));
    }
  });
}

/** For stores whose data outlives the last handle. */
export function durableLaws(law: Law): void {
  law(
    "what was acknowledged is there after reopening, and revisions go on rising",
    async ({ store, reopen }) => {
      const expected = new Map<string, Revision>();
      let present = store;
      let highest = 0;
      for (let round = 0; round < 5; round++) {
        for (let i = 0; i < 5; i++) {
          const key = `r/${(round + i) % 8}`;
          const revision = await swap(present, key, expected.get(key) ?? null, `${round}`);
          assert(revision > highest, `revision ${revision} after ${highest}`);
          highest = revision;
          expected.set(key, revision);
        }
        present = await reopen();
        assert((await present.sync()) >= highest);
        const entries = await snapshot(present);
        assert.deepEqual(new Map([...entries].map(([key, { revision }]) => [key, revision])), expected);
      }
    },
  );

  law("close in the middle of writes loses none that was acknowledged", async ({ store, reopen }) => {
    let present = store;
    for (const [round, turns] of TURNS.entries()) {
      const ops = creations(`r/${round}`, 20);
      const outcomes = sendAll(present, ops);
      await turnsOf(turns);
      const closing = present.close();
      const told = await outcomes;
      await closing;
      present = await reopen();
      const entries = await snapshot(present);
      for (const [i, answer] of told.entries()) {
        const entry = entries.get((ops[i] as CasOp).key);
        if (answer.status === "rejected") assert.equal(entry, undefined, "rejected, and yet written");
        else checkTold(only(answer.value), entry?.revision ?? null);
      }
    }
  });
}

/** For stores that several processes open at once. */
export function sharedLifecycleLaws(law: Law): void {
  law("closing one handle leaves the other at work", async ({ store, another }) => {
    const other = await another();
    const probe = new FeedProbe(other);
    await probe.next();
    const first = await swap(store, "r/a", null, "1");
    await store.close();
    await probe.reach(first);
    await probe.reach(await swap(other, "r/a", first, "2"));
    assert.equal(probe.seen.get("r/a")?.value, "2");
    await probe.stop();
  });

  law("a handle may be opened while others are being closed", async ({ store, another }) => {
    let last: Store = store;
    let present: Revision | null = null;
    for (let i = 0; i < 5; i++) {
      present = await swap(last, "r/a", present, `${i}`);
      const [next] = await Promise.all([another(), last.close()]);
      assert.equal((await snapshot(next)).get("r/a")?.revision, present);
      last = next;
    }
  });
}

function creations(prefix: string, count: number): CasOp[] {
  return Array.from({ length: count }, (_, i) => ({ key: `${prefix}/${i}`, expected: null, value: "1" }));
}

/** Each as a call of its own, all at once. */
function sendAll(store: Store, ops: readonly CasOp[]): Promise<PromiseSettledResult<CasOutcome[]>[]> {
  return Promise.allSettled(ops.map((op) => store.compareAndSet([op])));
}

async function turnsOf(turns: number): Promise<void> {
  for (let i = 0; i < turns; i++) await Promise.resolve();
}

async function abortAfter(turns: number, controller: AbortController, reason: Error): Promise<void> {
  // Zero turns is within the very call, before anything of it could come back.
  if (turns > 0) await turnsOf(turns);
  controller.abort(reason);
}

/** A rejection says that nothing was or will be written; the only one admitted here is the signal's reason. */
async function outcomeOf(sent: Promise<CasOutcome[]>, reason: Error): Promise<CasOutcome | "rejected"> {
  try {
    return only(await sent);
  } catch (error) {
    assert.equal(error, reason);
    return "rejected";
  }
}

/**
 * What became of a write that may still be under way: the same comparison with another value. If that wins, the first
 * never happened and never will; if it loses, the entry shown is the first.
 */
async function settle(store: Store, op: CasOp, outcome: CasOutcome | "rejected"): Promise<Revision> {
  await store.sync();
  const second: CasOp = { ...op, value: `${op.value} again` };
  const look = only(await store.compareAndSet([second]));
  if (isRefusal(look, second)) return settle(store, op, outcome);
  if (look.kind === "swapped") {
    assert(outcome === "rejected" || outcome.kind !== "swapped", "acknowledged, and not there");
    return look.revision;
  }
  assert(look.kind === "conflict" && look.current !== null, describe(look));
  assert.equal(look.current.value, op.value);
  assert(outcome !== "rejected", "rejected, and yet written");
  assert.notEqual(outcome.kind, "conflict", "refused, and yet written");
  if (outcome.kind === "swapped") assert.equal(look.current.revision, outcome.revision);
  assert.deepEqual((await snapshot(store)).get(op.key), look.current);
  return look.current.revision;
}

function checkTold(outcome: CasOutcome, found: Revision | null): void {
  if (outcome.kind === "swapped") assert.equal(found, outcome.revision, "acknowledged, and not there");
  if (outcome.kind === "conflict") assert.equal(found, null, "refused, and yet written");
}
