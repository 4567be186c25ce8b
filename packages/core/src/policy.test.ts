import { describe, expect, test } from "vitest";
import { InvalidRequestError } from "./errors.js";
import { DEFAULT_POLICY, type GroupPolicy, parsePolicy } from "./policy.js";

/** The error with which `parsePolicy` refuses `input`. Fails if it does not refuse it. */
function refusal(input: unknown, base: GroupPolicy = DEFAULT_POLICY): InvalidRequestError {
  try {
    parsePolicy(input, base);
  } catch (error) {
    if (error instanceof InvalidRequestError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

describe("parsePolicy", () => {
  test("a missing policy leaves the current one in force", () => {
    expect(parsePolicy(undefined, DEFAULT_POLICY)).toBe(DEFAULT_POLICY);
    expect(parsePolicy({}, DEFAULT_POLICY)).toEqual(DEFAULT_POLICY);
  });

  test('the default policy allows ttls from 500 to 60000 ms, has no takeover delay and uses strategy "first"', () => {
    expect(DEFAULT_POLICY).toMatchObject({
      minTtlMs: 500,
      maxTtlMs: 60_000,
      takeoverDelayMs: 0,
      strategy: "first",
      preempt: false,
    });
  });

  test("a partial policy changes only the given fields, including those of retry", () => {
    const base = { ...DEFAULT_POLICY, takeoverDelayMs: 40 };
    const changed = parsePolicy({ maxTtlMs: 9_000, retry: { jitter: 0.5 } }, base);
    expect(changed).toEqual({
      ...base,
      maxTtlMs: 9_000,
      retry: { ...DEFAULT_POLICY.retry, jitter: 0.5 },
    });
    expect(parsePolicy({ maxTtlMs: undefined }, base)).toEqual(base);
  });

  test.each([
    [{ minTtlMs: 100 }, { minTtlMs: 100 }],
    [{ maxTtlMs: 86_400_000 }, { maxTtlMs: 86_400_000 }],
    [{ takeoverDelayMs: 3_600_000 }, { takeoverDelayMs: 3_600_000 }],
    [
      { minTtlMs: 700, maxTtlMs: 700 },
      { minTtlMs: 700, maxTtlMs: 700 },
    ],
    [
      { strategy: "priority", preempt: true },
      { strategy: "priority", preempt: true },
    ],
    [{ retry: { initialMs: 1, maxMs: 1, jitter: 1 } }, { retry: { initialMs: 1, maxMs: 1, jitter: 1 } }],
  ])("a policy at its bounds is accepted: %o", (input, expected) => {
    expect(parsePolicy(input, DEFAULT_POLICY)).toMatchObject(expected);
  });

  const WRONG_WHOLE = [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, "500", true, [], {}, 10n];

  test.each([
    ["minTtlMs", "100 to 86400000", [...WRONG_WHOLE, 99, 86_400_001]],
    ["maxTtlMs", "100 to 86400000", [...WRONG_WHOLE, 99, 86_400_001]],
    ["takeoverDelayMs", "0 to 3600000", [...WRONG_WHOLE, 3_600_001]],
    ["strategy", '"first" or "priority"', ["last", "", 1, true, ["first"]]],
    ["preempt", "true or false", ["true", 1, 0, {}]],
    ["retry", "an object", [1, "x", [], null]],
  ])("a policy with a wrong %s is refused, and the error names the bound: %s", (key, bound, values) => {
    for (const value of values) {
      const error = refusal({ [key]: value });
      expect(error).toMatchObject({ field: `policy.${key}`, code: "INVALID_REQUEST" });
      expect(error.message).toContain(`policy.${key} must be`);
      expect(error.message).toContain(bound);
    }
  });

  test.each([
    ["initialMs", "1 to 3600000", [0, ...WRONG_WHOLE, 3_600_001]],
    ["maxMs", "1 to 3600000", [0, ...WRONG_WHOLE, 3_600_001]],
    ["jitter", "0 to 1", [-0.1, 1.1, Number.NaN, "0.2", true]],
  ])("a policy with a wrong retry.%s is refused, and the error names the bound: %s", (key, bound, values) => {
    for (const value of values) {
      const error = refusal({ retry: { [key]: value } });
      expect(error.field).toBe(`policy.retry.${key}`);
      expect(error.message).toContain(bound);
    }
  });

  test.each([5, "x", [], null])("a policy that is not an object is refused: %o", (input) => {
    expect(refusal(input)).toMatchObject({ field: "policy" });
  });

  test.each(["ttlMs", "__proto__", "constructor", "toString", "min_ttl_ms", ""])(
    "a policy with the unknown key %o is refused, and the error names the known keys",
    (key) => {
      const error = refusal(JSON.parse(`{${JSON.stringify(key)}: 1}`));
      expect(error.field).toBe(`policy.${key}`);
      expect(error.message).toContain("known are minTtlMs, maxTtlMs");
      const nested = refusal(JSON.parse(`{"retry": {${JSON.stringify(key)}: 1}}`));
      expect(nested.field).toBe(`policy.retry.${key}`);
    },
  );

  test("a policy with minTtlMs above maxTtlMs is refused and both are named, even if one of them is already in force", () => {
    const both = refusal({ minTtlMs: 900, maxTtlMs: 800 });
    expect(both.field).toBe("policy.minTtlMs");
    expect(both.message).toContain("900");
    expect(both.message).toContain("800");
    expect(refusal({ minTtlMs: 60_001 }).message).toContain("60000");
    expect(refusal({ maxTtlMs: 499 }).message).toContain("500");
    expect(parsePolicy({ minTtlMs: 60_001 }, { ...DEFAULT_POLICY, maxTtlMs: 70_000 }).minTtlMs).toBe(60_001);
  });

  test('a policy that preempts without strategy "priority" is refused, even if only one of the two is given', () => {
    expect(refusal({ preempt: true })).toMatchObject({ field: "policy.preempt" });
    const ranked: GroupPolicy = { ...DEFAULT_POLICY, strategy: "priority", preempt: true };
    expect(refusal({ strategy: "first" }, ranked)).toMatchObject({ field: "policy.preempt" });
  });

  test("a policy with retry.initialMs above retry.maxMs is refused, and both are named", () => {
    const error = refusal({ retry: { initialMs: 6_000 } });
    expect(error.field).toBe("policy.retry.initialMs");
    expect(error.message).toContain("6000");
    expect(error.message).toContain("5000");
  });
});
