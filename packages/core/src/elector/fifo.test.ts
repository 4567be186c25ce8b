import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Fifo } from "./fifo.js";

describe("a queue", () => {
  it("a Fifo returns its items in the order of insertion, like an array", () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.integer(), { freq: 2 })), (steps) => {
        const queue = new Fifo<number>();
        const model: number[] = [];
        for (const step of steps) {
          if (step === null) {
            expect(queue.shift()).toBe(model.shift());
          } else {
            queue.push(step);
            model.push(step);
          }
          expect(queue.size).toBe(model.length);
        }
      }),
    );
  });
});
