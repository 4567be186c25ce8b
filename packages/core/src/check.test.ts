import { describe, expect, test } from "vitest";
import { checkId, checkInteger, checkKeys, checkMetadata, checkNumber, isObject, LIMITS } from "./check.js";
import { InvalidRequestError } from "./errors.js";

/** The refusal of what `check` is given, which must be one. */
function refusal(check: () => unknown): InvalidRequestError {
  try {
    check();
  } catch (error) {
    if (error instanceof InvalidRequestError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

describe("an id", () => {
  test.each(["a", "A-z0.9_:/-", "...", "a/../b", "-", "x".repeat(200), "__proto__", "constructor"])(
    "%s is taken as it is",
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
  ])("%o is refused, with the field and the bound", (id) => {
    const error = refusal(() => checkId(id, "nodeId"));
    expect(error).toMatchObject({ code: "INVALID_REQUEST", field: "nodeId", name: "InvalidRequestError" });
    expect(error.message).toBe("nodeId must be 1 to 200 characters of A-Z a-z 0-9 . _ : / -");
  });

  test.each([".", ".."])("%s is refused: it would be a place in a path", (id) => {
    expect(refusal(() => checkId(id, "groupId"))).toMatchObject({ field: "groupId" });
  });
});

describe("a whole number", () => {
  test.each([3, 4, 5])("%i within 3 to 5 is taken", (value) => {
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
  ])("%s is refused, with the field and the bounds", (value) => {
    const error = refusal(() => checkInteger(value, "n", 3, 5));
    expect(error).toMatchObject({ field: "n", message: "n must be a whole number from 3 to 5" });
  });

  test("past what a number can count is refused whatever the bound", () => {
    expect(refusal(() => checkInteger(2 ** 53, "n", 0, Infinity)).field).toBe("n");
  });
});

describe("a number", () => {
  test.each([0, 0.5, 1])("%f within 0 to 1 is taken", (value) => {
    expect(checkNumber(value, "n", 0, 1)).toBe(value);
  });

  test.each([-0.1, 1.1, Number.NaN, Infinity, "0.5", null, undefined, [0.5]])("%s is refused", (value) => {
    expect(refusal(() => checkNumber(value, "n", 0, 1)).message).toBe("n must be a number from 0 to 1");
  });
});

describe("keys", () => {
  test("that are known pass, also when they are missing", () => {
    expect(() => checkKeys({ a: 1 }, "", ["a", "b"])).not.toThrow();
  });

  test.each(["c", "__proto__", "constructor", "hasOwnProperty", "", "0"])("%o is refused by name", (key) => {
    const value = JSON.parse(`{"a": 1, ${JSON.stringify(key)}: 1}`) as object;
    expect(refusal(() => checkKeys(value, "", ["a", "b"]))).toMatchObject({ field: key });
    const error = refusal(() => checkKeys(value, "policy", ["a", "b"]));
    expect(error.message).toBe(`policy.${key} is not known here; known are a, b`);
  });
});

describe("an object", () => {
  test("is neither null, nor a list, nor a function", () => {
    expect(isObject({})).toBe(true);
    expect(isObject(Object.create(null))).toBe(true);
    for (const other of [null, undefined, [], () => {}, "x", 1]) expect(isObject(other)).toBe(false);
  });
});

describe("metadata", () => {
  const refused = (value: unknown) => refusal(() => checkMetadata(value, "metadata"));

  test("not given is none", () => {
    expect(checkMetadata(undefined, "metadata")).toBeUndefined();
  });

  test("is kept as it was when it was checked: a frozen copy, whatever the caller does to its own", () => {
    const own = { zone: "x", nested: { list: [1] } };
    const kept = checkMetadata(own, "metadata");
    own.zone = "y";
    own.nested.list.push(2);
    expect(kept).toEqual({ zone: "x", nested: { list: [1] } });
    expect(Object.isFrozen(kept)).toBe(true);
  });

  test("is what JSON makes of it", () => {
    expect(checkMetadata({ at: new Date(0), gone: undefined, not: Number.NaN }, "metadata")).toEqual({
      at: "1970-01-01T00:00:00.000Z",
      not: null,
    });
  });

  test.each([null, [], "x", 5, true, () => {}, Symbol("x")])("%o is no object", (value) => {
    expect(refused(value)).toMatchObject({ field: "metadata", message: "metadata must be an object" });
  });

  test("of 4096 bytes is taken, of one more refused: both numbers named", () => {
    const sized = (bytes: number) => ({ a: "x".repeat(bytes - '{"a":""}'.length) });
    expect(checkMetadata(sized(LIMITS.metadataBytes), "metadata")).toBeDefined();
    const error = refused(sized(LIMITS.metadataBytes + 1));
    expect(error.field).toBe("metadata");
    expect(error.message).toContain("4097");
    expect(error.message).toContain("4096");
  });

  test("is measured in bytes, not in characters", () => {
    expect(checkMetadata({ a: "日".repeat(1_362) }, "metadata")).toBeDefined();
    expect(refused({ a: "日".repeat(1_363) }).message).toContain("4097");
    expect(refused({ a: "😀".repeat(1_100) }).message).toContain("4096");
    // A lone surrogate is six characters of JSON.
    expect(refused({ a: "\ud800".repeat(700) }).message).toContain("4096");
  });

  test("that is no JSON is refused, with the cause", () => {
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    for (const value of [cyclic, { big: 1n }, { toJSON: throwing }]) {
      const error = refused(value);
      expect(error).toMatchObject({ field: "metadata", message: "metadata must be JSON" });
      expect(error.cause).toBeInstanceOf(Error);
    }
  });

  test("nested deeper than JSON can go is refused", () => {
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
  ])("that says it is %s by toJSON is refused", (_, result) => {
    expect(refused({ toJSON: () => result })).toMatchObject({ message: "metadata must be an object" });
  });

  test("that says it is another object by toJSON is that object, and measured as such", () => {
    expect(checkMetadata({ toJSON: () => ({ small: 1 }) }, "metadata")).toEqual({ small: 1 });
    expect(refused({ toJSON: () => ({ large: "x".repeat(5_000) }) }).field).toBe("metadata");
  });

  test("may have a key called __proto__, which changes no prototype", () => {
    const kept = checkMetadata(JSON.parse('{"__proto__": {"admin": true}}'), "metadata");
    expect(Object.getPrototypeOf(kept)).toBe(Object.prototype);
    expect(kept?.["admin"]).toBeUndefined();
    expect(Object.keys(kept ?? {})).toEqual(["__proto__"]);
  });
});

function throwing(): never {
  throw new Error("no");
}
