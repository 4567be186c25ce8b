import { describe, expect, it } from "vitest";
import { parseDuration, tellDuration, tellTime } from "./duration.js";

describe("a duration on the command line", () => {
  it.each([
    ["500ms", 500],
    ["5s", 5000],
    ["1.5s", 1500],
    ["2m", 120_000],
    ["1h", 3_600_000],
    ["1d", 86_400_000],
    ["0s", 0],
  ])("the duration %s is %i ms", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(["5", "", "s", "-5s", "5 s", "5sec", "1e3s", "9999999999999999d", "5S"])(
    "the duration %j is refused",
    (text) => {
      expect(() => parseDuration(text)).toThrow("Use a number with a unit");
    },
  );
});

it.each([
  [0, "0 ms"],
  [0.25, "0.3 ms"],
  [42, "42 ms"],
  [1500, "1.5 s"],
  [3000, "3 s"],
  [61_000, "1 min 1 s"],
  [7_320_000, "2 h 2 min"],
  [90_000_000, "1 d 1 h"],
  [-2000, "-2 s"],
])("%d ms is printed as %s", (ms, text) => {
  expect(tellDuration(ms)).toBe(text);
});

it("times are printed in UTC", () => {
  expect(tellTime(Date.UTC(2026, 0, 2, 3, 4, 5))).toBe("2026-01-02 03:04:05Z");
});
