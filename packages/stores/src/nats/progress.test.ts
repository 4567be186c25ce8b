import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Progress } from "./progress.js";

interface Message {
  readonly key: number;
  readonly revision: number;
}

const HEAD = -1;

/** A stream that keeps the last message of each key, a consumer of it, and the way between, each at its own pace. */
class World {
  readonly progress = new Progress();
  readonly #written: Message[] = [];
  readonly #stored = new Map<number, Message>();
  readonly #delivered = new Map<number, number>();
  readonly #onTheWay: Message[] = [];
  /** Barriers: asked for, and then written and not yet answered. */
  #asked = 0;
  readonly #answers: number[] = [];
  #cursor = 1;

  write(key: number): number {
    const revision = this.#written.length + 1;
    const message = { key, revision };
    this.#written.push(message);
    this.#stored.set(key, message);
    return revision;
  }

  writeBarrier(): boolean {
    if (this.#asked === 0) return false;
    this.#asked--;
    this.#answers.push(this.write(HEAD));
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
    this.progress.deliver(message.revision);
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

  /** The port's sentence on progress. */
  check(): void {
    for (const { key, revision } of this.#written) {
      if (revision > this.progress.reached) return;
      expect(this.#delivered.get(key) ?? 0).toBeGreaterThanOrEqual(revision);
    }
  }
}

/** 0 to 3: a write of that key; above: a step of the others. */
const STEPS = fc.array(fc.nat({ max: 9 }), { maxLength: 80, size: "max" });

function step(world: World, choice: number): void {
  if (choice <= 3) world.write(choice);
  else if (choice <= 5) world.dispatch();
  else if (choice <= 7) world.receive();
  else if (choice === 8) world.writeBarrier();
  else world.answerBarrier();
  world.askForBarrier();
  world.check();
}

test("progress never passes what was left out, however far the consumer is behind", () => {
  fc.assert(
    fc.property(STEPS, (steps) => {
      const world = new World();
      for (const choice of steps) step(world, choice);
    }),
    { numRuns: 500 },
  );
});

test("once nobody writes, progress comes to the last write", () => {
  fc.assert(
    fc.property(STEPS, (steps) => {
      const world = new World();
      for (const choice of steps) step(world, choice);
      const { last } = world;
      world.askForBarrier();
      // Everything that can move does; each round of barriers makes at most one gap of its own.
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

test("a gap holds progress until a barrier that was sent after it has come without another gap", () => {
  const progress = new Progress();
  progress.deliver(1);
  expect([progress.reached, progress.needsBarrier]).toEqual([1, false]);
  // 2 and 3 were replaced by 5 and 7.
  progress.deliver(4);
  expect([progress.reached, progress.needsBarrier]).toEqual([1, true]);
  progress.sendBarrier();
  progress.deliver(5);
  progress.setBarrier(8);
  // 6 was replaced by 9: the barrier at 8 says nothing of that.
  progress.deliver(7);
  progress.deliver(8);
  expect([progress.reached, progress.needsBarrier]).toEqual([1, true]);
  progress.sendBarrier();
  progress.deliver(9);
  expect(progress.reached).toBe(1);
  progress.setBarrier(10);
  progress.deliver(10);
  expect([progress.reached, progress.needsBarrier]).toEqual([10, false]);
  progress.deliver(11);
  expect(progress.reached).toBe(11);
});
