import { BackendUnavailableError, InvalidRequestError } from "@tenure/core";
import { expect, test } from "vitest";
import { parseRetry } from "./options.js";
import { Backoff, codeOf, isPermanent } from "./retry.js";

function pauses(options: object, random: number, count: number): number[] {
  const backoff = new Backoff(parseRetry(options), () => random);
  return Array.from({ length: count }, () => backoff.next());
}

test.each([
  ["by default all of it is drawn", {}, 0.5, [50, 100, 200, 400, 800, 1600, 2500, 2500]],
  ["nothing is drawn", { jitter: 0 }, 0.5, [100, 200, 400, 800, 1600, 3200, 5000, 5000]],
  ["a quarter is drawn, at its least", { jitter: 0.25 }, 0, [75, 150, 300]],
  ["a quarter is drawn, at its most", { jitter: 0.25 }, 1, [100, 200, 400]],
  ["it does not grow", { multiplier: 1, jitter: 0 }, 0, [100, 100, 100]],
  ["it reaches its limit at once", { initialBackoffMs: 7000, jitter: 0 }, 0, [7000, 7000]],
])("the pauses where %s", (_name, options, random, expected) => {
  expect(pauses(options, random, expected.length)).toEqual(expected);
});

test("a thousand failures overflow nothing, and one success begins anew", () => {
  const backoff = new Backoff(parseRetry({ jitter: 0, multiplier: 100 }), () => 0);
  for (let i = 0; i < 1000; i += 1) backoff.next();
  expect(backoff.next()).toBe(5000);
  expect(backoff.failures).toBe(1001);
  backoff.reset();
  expect(backoff.next()).toBe(100);
});

test("an error that no repetition mends waits the longest; one that names a pause gets it", () => {
  const backoff = new Backoff(parseRetry({ maxBackoffMs: 3000 }), () => 0);
  expect(backoff.next(new InvalidRequestError("ttlMs", "is wrong"))).toBe(3000);
  expect(backoff.next(Object.assign(new Error("busy"), { retryAfterMs: 1234 }))).toBe(1234);
  expect(backoff.next(new BackendUnavailableError("out"))).toBe(0);
});

test("errors are told apart by their code alone", () => {
  expect(isPermanent(new InvalidRequestError("x", "y"))).toBe(true);
  expect(isPermanent(new BackendUnavailableError("INVALID_REQUEST"))).toBe(false);
  for (const unknown of [new Error("UNAUTHORIZED"), { code: 403 }, "UNAUTHORIZED", null, undefined]) {
    expect(isPermanent(unknown)).toBe(false);
    expect(codeOf(unknown)).toBe("UNKNOWN");
  }
  expect(isPermanent({ code: "RATE_LIMITED" })).toBe(false);
  expect(isPermanent({ code: "CONFLICT" })).toBe(false);
});
