import { describe, expect, it } from "vitest";
import { parseDuration, parseSince, tellDuration, tellTime } from "./duration.js";

describe("a duration on the command line", () => {
  it.each([
    ["500ms", 500],
    ["5s", 5000],
    ["1.5s", 1500],
    ["2m", 120_000],
    ["1h", 3_600_000],
    ["1d", 86_400_000],
    ["0s", 0],
    ["1m30s", 90_000],
    ["1d2h3m4.5s", 93_784_500],
  ])("the duration %s is %i ms", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(["5", "", "s", "-5s", "5 s", "30s1m", "1m 30s", "5sec", "1e3s", "9999999999999999d", "5S"])(
    "the duration %j is refused",
    (text) => {
      expect(() => parseDuration(text)).toThrow("Use a number with a unit");
    },
  );
});

it.each([
  [0, "0s"],
  [0.25, "0.3ms"],
  [42, "42ms"],
  [1500, "1.5s"],
  [3000, "3s"],
  [61_000, "1m1s"],
  [7_320_000, "2h2m"],
  [90_000_000, "1d1h"],
  [-2000, "-2s"],
])("%d ms is printed as %s", (ms, text) => {
  expect(tellDuration(ms)).toBe(text);
});

it("a duration is accepted in the form in which it is printed", () => {
  for (const ms of [0, 42, 1500, 90_000, 7_320_000, 90_000_000]) {
    expect(parseDuration(tellDuration(ms))).toBe(ms);
  }
});

it("a point in time is a duration before now or a time, and anything else is refused", () => {
  expect(parseSince("15m")(1_000_000)).toBe(100_000);
  expect(parseSince("2026-01-02T03:04:05Z")(0)).toBe(Date.UTC(2026, 0, 2, 3, 4, 5));
  expect(parseSince("2026-01-02 03:04:05Z")(0)).toBe(Date.UTC(2026, 0, 2, 3, 4, 5));
  for (const text of ["yesterday", "5", "2026-13-40"]) {
    expect(() => parseSince(text)).toThrow("Use a duration such as 15m, or a time");
  }
});

it("times are printed in UTC", () => {
  expect(tellTime(Date.UTC(2026, 0, 2, 3, 4, 5))).toBe("2026-01-02 03:04:05Z");
});
