import { describe, expect, test } from "vitest";
import { checkId, checkInteger, checkKeys, checkMetadata, checkNumber, isObject, LIMITS } from "./check.js";
import { InvalidRequestError } from "./errors.js";

/** The error with which `check` refuses its input. Fails if it does not refuse it. */
function refusal(check: () => unknown): InvalidRequestError {
  try {
    check();
  } catch (error) {
    if (error instanceof InvalidRequestError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

describe("checkId", () => {
  test.each(["a", "A-z0.9_:/-", "...", "a/../b", "-", "x".repeat(200), "__proto__", "constructor"])(
    "the id %s is accepted unchanged",
    (id) => {
      expect(checkId(id, "nodeId")).toBe(id);
    },
  );

  test.each([
    "",
    "x".repeat(201),
    "a b",
    " a",
    "a\n",
    "a\0",
    "é",
    "日本",
    "a%2e",
    "a#b",
    "a?b",
    "a\\b",
    "a\u200b",
    1,
    null,
    undefined,
    ["a"],
    { toString: () => "a" },
    Symbol("a"),
    new String("a"),
  ])("the id %o is refused, and the error names the field and the bound", (id) => {
    const error = refusal(() => checkId(id, "nodeId"));
    expect(error).toMatchObject({ code: "INVALID_REQUEST", field: "nodeId", name: "InvalidRequestError" });
    expect(error.message).toBe("nodeId must be 1 to 200 characters of A-Z a-z 0-9 . _ : / -");
  });

  test.each([".", ".."])("the id %s is refused because it could be read as a path segment", (id) => {
    expect(refusal(() => checkId(id, "groupId"))).toMatchObject({ field: "groupId" });
  });
});

describe("checkInteger", () => {
  test.each([3, 4, 5])("the integer %i is accepted where 3 to 5 is allowed", (value) => {
    expect(checkInteger(value, "n", 3, 5)).toBe(value);
  });

  test.each([
    2,
    6,
    -4,
    4.5,
    Number.NaN,
    Infinity,
    -Infinity,
    2 ** 53,
    "4",
    null,
    undefined,
    true,
    [4],
    4n,
    {},
  ])("the integer %s is refused, and the error names the field and the bounds", (value) => {
    const error = refusal(() => checkInteger(value, "n", 3, 5));
    expect(error).toMatchObject({ field: "n", message: "n must be a whole number from 3 to 5" });
  });

  test("an integer above Number.MAX_SAFE_INTEGER is refused, even without an upper bound", () => {
    expect(refusal(() => checkInteger(2 ** 53, "n", 0, Infinity)).field).toBe("n");
  });
});

describe("checkNumber", () => {
  test.each([0, 0.5, 1])("the number %f is accepted where 0 to 1 is allowed", (value) => {
    expect(checkNumber(value, "n", 0, 1)).toBe(value);
  });

  test.each([-0.1, 1.1, Number.NaN, Infinity, "0.5", null, undefined, [0.5]])(
    "the number %s is refused",
    (value) => {
      expect(refusal(() => checkNumber(value, "n", 0, 1)).message).toBe("n must be a number from 0 to 1");
    },
  );
});

describe("checkKeys", () => {
  test("known keys are accepted, and each of them may be missing", () => {
    expect(() => checkKeys({ a: 1 }, "", ["a", "b"])).not.toThrow();
  });

  test.each(["c", "__proto__", "constructor", "hasOwnProperty", "", "0"])(
    "the unknown key %o is refused by name",
    (key) => {
      const value = JSON.parse(`{"a": 1, ${JSON.stringify(key)}: 1}`) as object;
      expect(refusal(() => checkKeys(value, "", ["a", "b"]))).toMatchObject({ field: key });
      const error = refusal(() => checkKeys(value, "policy", ["a", "b"]));
      expect(error.message).toBe(`policy.${key} is not known here; known are a, b`);
    },
  );
});

describe("isObject", () => {
  test("null, a list and a function are not objects", () => {
    expect(isObject({})).toBe(true);
    expect(isObject(Object.create(null))).toBe(true);
    for (const other of [null, undefined, [], () => {}, "x", 1]) expect(isObject(other)).toBe(false);
  });
});

describe("checkMetadata", () => {
  const refused = (value: unknown) => refusal(() => checkMetadata(value, "metadata"));

  test("missing metadata is read as undefined", () => {
    expect(checkMetadata(undefined, "metadata")).toBeUndefined();
  });

  test("metadata is a frozen copy, so later changes by the caller do not reach it", () => {
    const own = { zone: "x", nested: { list: [1] } };
    const kept = checkMetadata(own, "metadata");
    own.zone = "y";
    own.nested.list.push(2);
    expect(kept).toEqual({ zone: "x", nested: { list: [1] } });
    expect(Object.isFrozen(kept)).toBe(true);
  });

  test("metadata has the values that JSON gives it: a date becomes a string, undefined is dropped", () => {
    expect(checkMetadata({ at: new Date(0), gone: undefined, not: Number.NaN }, "metadata")).toEqual({
      at: "1970-01-01T00:00:00.000Z",
      not: null,
    });
  });

  test.each([null, [], "x", 5, true, () => {}, Symbol("x")])(
    "%o is refused as metadata because it is not an object",
    (value) => {
      expect(refused(value)).toMatchObject({ field: "metadata", message: "metadata must be an object" });
    },
  );

  test("metadata of 4096 bytes is accepted, and of 4097 bytes refused with both numbers named", () => {
    const sized = (bytes: number) => ({ a: "x".repeat(bytes - '{"a":""}'.length) });
    expect(checkMetadata(sized(LIMITS.metadataBytes), "metadata")).toBeDefined();
    const error = refused(sized(LIMITS.metadataBytes + 1));
    expect(error.field).toBe("metadata");
    expect(error.message).toContain("4097");
    expect(error.message).toContain("4096");
  });

  test("metadata is measured in bytes, not in characters", () => {
    expect(checkMetadata({ a: "日".repeat(1_362) }, "metadata")).toBeDefined();
    expect(refused({ a: "日".repeat(1_363) }).message).toContain("4097");
    expect(refused({ a: "😀".repeat(1_100) }).message).toContain("4096");
    // A lone surrogate takes six characters in JSON.
    expect(refused({ a: "\ud800".repeat(700) }).message).toContain("4096");
  });

  test("metadata that JSON cannot represent is refused, with the cause", () => {
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    for (const value of [cyclic, { big: 1n }, { toJSON: throwing }]) {
      const error = refused(value);
      expect(error).toMatchObject({ field: "metadata", message: "metadata must be JSON" });
      expect(error.cause).toBeInstanceOf(Error);
    }
  });

  test("metadata nested deeper than JSON can go is refused", () => {
    let deep: Record<string, unknown> = {};
    for (let depth = 0; depth < 100_000; depth++) deep = { deep };
    expect(refused(deep)).toMatchObject({ field: "metadata" });
  });

  test.each([
    ["a list", [1]],
    ["a string", "x"],
    ["a number", 1],
    ["null", null],
    ["nothing", undefined],
    ["a function", () => {}],
  ])("metadata whose toJSON returns %s is refused", (_, result) => {
    expect(refused({ toJSON: () => result })).toMatchObject({ message: "metadata must be an object" });
  });

  test("metadata whose toJSON returns another object is replaced by that object and measured as such", () => {
    expect(checkMetadata({ toJSON: () => ({ small: 1 }) }, "metadata")).toEqual({ small: 1 });
    expect(refused({ toJSON: () => ({ large: "x".repeat(5_000) }) }).field).toBe("metadata");
  });

  test("metadata may have a key called __proto__, which changes no prototype", () => {
    const kept = checkMetadata(JSON.parse('{"__proto__": {"admin": true}}'), "metadata");
    expect(Object.getPrototypeOf(kept)).toBe(Object.prototype);
    expect(kept?.["admin"]).toBeUndefined();
    expect(Object.keys(kept ?? {})).toEqual(["__proto__"]);
  });
});

function throwing(): never {
  throw new Error("no");
}
