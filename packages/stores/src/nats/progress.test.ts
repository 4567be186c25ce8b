import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Progress } from "./progress.js";

interface Message {
  readonly key: number;
  readonly revision: number;
  /** Earlier revisions of its key, as far as the message names them. */
  readonly replaced: readonly number[];
}

const BARRIER = -1;
const nothing = () => [];

/** A stream that keeps the last message of each key, its consumer and the network between, each at its own pace. */
class StreamModel {
  readonly progress: Progress;
  readonly #written: Message[] = [];
  readonly #stored = new Map<number, Message>();
  readonly #delivered = new Map<number, number>();
  readonly #onTheWay: Message[] = [];
  /** Barriers: requested, and then written and not yet answered. */
  #asked = 0;
  readonly #answers: number[] = [];
  #cursor = 1;

  constructor(maxMissing?: number) {
    this.progress = new Progress(maxMissing);
  }

  /** Writes a message that names `tells` earlier revisions, and leaves out the last `hides` of them. */
  write(key: number, tells = Number.POSITIVE_INFINITY, hides = 0): number {
    const revision = this.#written.length + 1;
    const before = this.#written.filter((each) => each.key === key).map((each) => each.revision);
    const replaced = before.toReversed().slice(hides, hides + tells);
    const message = { key, revision, replaced };
    this.#written.push(message);
    this.#stored.set(key, message);
    return revision;
  }

  writeBarrier(): boolean {
    if (this.#asked === 0) return false;
    this.#asked--;
    this.#answers.push(this.write(BARRIER));
    return true;
  }

  answerBarrier(): boolean {
    const revision = this.#answers.shift();
    if (revision === undefined) return false;
    this.progress.setBarrier(revision);
    return true;
  }

  /** The server reads the next message that is left. */
  dispatch(): boolean {
    const left = [...this.#stored.values()].filter(({ revision }) => revision >= this.#cursor);
    const next = left.toSorted((a, b) => a.revision - b.revision)[0];
    if (next === undefined) return false;
    this.#cursor = next.revision + 1;
    this.#onTheWay.push(next);
    return true;
  }

  receive(): boolean {
    const message = this.#onTheWay.shift();
    if (message === undefined) return false;
    this.#delivered.set(message.key, message.revision);
    this.progress.deliver(message.revision, () => message.replaced);
    return true;
  }

  askForBarrier(): void {
    if (!this.progress.needsBarrier) return;
    this.progress.sendBarrier();
    this.#asked++;
  }

  get last(): number {
    return this.#written.length;
  }

  /** The progress rule of the port. */
  check(): void {
    for (const { key, revision } of this.#written) {
      if (revision > this.progress.reached) return;
      expect(this.#delivered.get(key) ?? 0).toBeGreaterThanOrEqual(revision);
    }
  }
}

/** Below 24: a write of one of four keys that names none, one or two earlier revisions; above: a step of the others. */
const STEPS = fc.array(fc.nat({ max: 47 }), { maxLength: 80, size: "max" });
const MAX_MISSING = fc.constantFrom(0, 1, 3, 1000);

function step(world: StreamModel, choice: number): void {
  if (choice < 24) world.write(choice % 4, Math.floor(choice / 4) % 3, choice < 12 ? 0 : 1);
  else if (choice < 32) world.dispatch();
  else if (choice < 40) world.receive();
  else if (choice < 44) world.writeBarrier();
  else world.answerBarrier();
  world.askForBarrier();
  world.check();
}

test("progress never passes a missing message, however far the consumer is behind", () => {
  fc.assert(
    fc.property(STEPS, MAX_MISSING, (steps, maxMissing) => {
      const world = new StreamModel(maxMissing);
      for (const choice of steps) step(world, choice);
    }),
    { numRuns: 500 },
  );
});

test("once writes end, progress reaches the last write", () => {
  fc.assert(
    fc.property(STEPS, MAX_MISSING, (steps, maxMissing) => {
      const world = new StreamModel(maxMissing);
      for (const choice of steps) step(world, choice);
      const { last } = world;
      world.askForBarrier();
      // Everything that can move does; each round of barriers makes at most one gap.
      for (let moved = true; moved;) {
        moved = [world.writeBarrier(), world.answerBarrier(), world.dispatch(), world.receive()].includes(
          true,
        );
        world.askForBarrier();
        world.check();
      }
      expect(world.progress.reached).toBeGreaterThanOrEqual(last);
    }),
  );
});

test("a gap holds progress until a barrier sent after it has arrived without another gap", () => {
  const progress = new Progress();
  progress.deliver(1, nothing);
  expect([progress.reached, progress.needsBarrier]).toEqual([1, false]);
  // 2 and 3 were replaced by 5 and 7.
  progress.deliver(4, nothing);
  expect([progress.reached, progress.needsBarrier]).toEqual([1, true]);
  progress.sendBarrier();
  progress.deliver(5, nothing);
  progress.setBarrier(8);
  // 6 was replaced by 9, which the barrier at 8 does not cover.
  progress.deliver(7, nothing);
  progress.deliver(8, nothing);
  expect([progress.reached, progress.needsBarrier]).toEqual([1, true]);
  progress.sendBarrier();
  progress.deliver(9, nothing);
  expect(progress.reached).toBe(1);
  progress.setBarrier(10);
  progress.deliver(10, nothing);
  expect([progress.reached, progress.needsBarrier]).toEqual([10, false]);
  progress.deliver(11, nothing);
  expect(progress.reached).toBe(11);
});

test("a message that a later one of the same key replaced is no longer missing, and needs no barrier", () => {
  const progress = new Progress();
  progress.deliver(1, nothing);
  progress.deliver(4, () => [3]);
  expect([progress.reached, progress.isMissing]).toEqual([1, true]);
  // The third message of its key: 2 and 4 were the others, and 4 has arrived.
  progress.deliver(5, () => [4, 2]);
  expect([progress.reached, progress.isMissing]).toEqual([5, false]);
});

test("if every message names what it replaced, no barrier is needed after the first, however far behind the consumer is", () => {
  fc.assert(
    fc.property(STEPS, (steps) => {
      const world = new StreamModel();
      world.write(BARRIER);
      world.dispatch();
      world.receive();
      for (const choice of steps) {
        if (choice < 24) world.write(choice % 4 === 3 ? BARRIER : choice % 4);
        else if (choice < 36) world.dispatch();
        else world.receive();
        world.check();
      }
      while (world.dispatch() || world.receive());
      expect([world.progress.reached, world.progress.needsBarrier]).toEqual([world.last, false]);
    }),
  );
});

test("a barrier closes a gap that is followed by others, once those are closed", () => {
  const progress = new Progress();
  progress.deliver(1, nothing);
  progress.deliver(3, nothing);
  progress.sendBarrier();
  progress.setBarrier(6);
  // 4 may have replaced 2.
  progress.deliver(5, nothing);
  progress.deliver(6, nothing);
  expect([progress.reached, progress.needsBarrier]).toEqual([1, true]);
  progress.deliver(7, () => [4]);
  expect([progress.reached, progress.needsBarrier]).toEqual([7, false]);
});

test("a gap too wide to record is closed by a barrier only", () => {
  const progress = new Progress();
  progress.deliver(1, nothing);
  progress.deliver(5000, () => Array.from({ length: 5000 }, (_, i) => i));
  expect([progress.reached, progress.isHopeless, progress.needsBarrier]).toEqual([1, true, true]);
  progress.sendBarrier();
  progress.setBarrier(5001);
  progress.deliver(5001, nothing);
  expect([progress.reached, progress.isHopeless, progress.needsBarrier]).toEqual([5001, false, false]);
});
