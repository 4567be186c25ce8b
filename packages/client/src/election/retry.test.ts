import { BackendUnavailableError, InvalidRequestError } from "@tenure/core";
import { expect, test } from "vitest";
import { parseRetry } from "./options.js";
import { Backoff, codeOf, isPermanent } from "./retry.js";

function pauses(options: object, random: number, count: number): number[] {
  const backoff = new Backoff(parseRetry(options), () => random);
  return Array.from({ length: count }, () => backoff.next());
}

test.each([
  ["the default jitter applies to the whole pause", {}, 0.5, [50, 100, 200, 400, 800, 1600, 2500, 2500]],
  ["jitter is 0", { jitter: 0 }, 0.5, [100, 200, 400, 800, 1600, 3200, 5000, 5000]],
  ["jitter is a quarter, at its minimum", { jitter: 0.25 }, 0, [75, 150, 300]],
  ["jitter is a quarter, at its maximum", { jitter: 0.25 }, 1, [100, 200, 400]],
  ["the multiplier is 1", { multiplier: 1, jitter: 0 }, 0, [100, 100, 100]],
  ["the initial pause exceeds the maximum", { initialBackoffMs: 7000, jitter: 0 }, 0, [7000, 7000]],
])("backoff pauses if %s", (_name, options, random, expected) => {
  expect(pauses(options, random, expected.length)).toEqual(expected);
});

test("a backoff does not overflow after a thousand failures, and starts again after one success", () => {
  const backoff = new Backoff(parseRetry({ jitter: 0, multiplier: 100 }), () => 0);
  for (let i = 0; i < 1000; i += 1) backoff.next();
  expect(backoff.next()).toBe(5000);
  expect(backoff.failures).toBe(1001);
  backoff.reset();
  expect(backoff.next()).toBe(100);
});

test("a permanent error waits for the longest pause, and an error with retryAfterMs for that time", () => {
  const backoff = new Backoff(parseRetry({ maxBackoffMs: 3000 }), () => 0);
  expect(backoff.next(new InvalidRequestError("ttlMs", "is wrong"))).toBe(3000);
  expect(backoff.next(Object.assign(new Error("busy"), { retryAfterMs: 1234 }))).toBe(1234);
  expect(backoff.next(new BackendUnavailableError("out"))).toBe(0);
});

test("errors are distinguished by their code only", () => {
  expect(isPermanent(new InvalidRequestError("x", "y"))).toBe(true);
  expect(isPermanent(new BackendUnavailableError("INVALID_REQUEST"))).toBe(false);
  for (const unknown of [new Error("UNAUTHORIZED"), { code: 403 }, "UNAUTHORIZED", null, undefined]) {
    expect(isPermanent(unknown)).toBe(false);
    expect(codeOf(unknown)).toBe("UNKNOWN");
  }
  expect(isPermanent({ code: "RATE_LIMITED" })).toBe(false);
  expect(isPermanent({ code: "CONFLICT" })).toBe(false);
});
