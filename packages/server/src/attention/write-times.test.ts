import { describe, expect, it } from "vitest";
import { WriteWindow } from "./write-times.js";

describe("the times of writes", () => {
  it("the slowest hundredth is known to a tenth of its time", () => {
    const window = new WriteWindow();
    for (let index = 0; index < 990; index++) window.take(5, 1000, 0);
    for (let index = 0; index < 10; index++) window.take(400, 1000, 0);
    const { count, p99Ms, slow } = window.read(1500) ?? { count: 0, p99Ms: 0, slow: 0 };
    expect({ count, slow }).toEqual({ count: 1000, slow: 10 });
    expect(p99Ms).toBeLessThanOrEqual(400);
    expect(p99Ms).toBeGreaterThan(400 / 1.11);
    window.take(5, 1000, 0);
    for (let index = 0; index < 100; index++) window.take(5, 1000, 0);
    expect(window.read(1500)?.p99Ms).toBeLessThan(6);
  });

  it("a write is forgotten after half a minute, and the start of the first slow write is known", () => {
    const window = new WriteWindow();
    window.take(300, 1000, 50_000);
    window.take(700, 9000, 58_000);
    expect(window.read(30_500)).toMatchObject({ count: 2, slow: 2, slowSinceMs: 49_700 });
    expect(window.read(31_500)).toMatchObject({ count: 1, slow: 1, slowSinceMs: 57_300 });
    expect(window.read(40_000)).toBeNull();
  });
});
