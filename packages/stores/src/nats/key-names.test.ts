import * as fc from "fast-check";
import { expect, test } from "vitest";
import { barrierNameOf, isBarrierName, keyNameOf, keyOfName } from "./key-names.js";

/** Keys that the port allows (`checkBatch`): 1 to 512 UTF-16 units of well-formed Unicode without U+0000. */
const KEY = fc
  .oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 256, size: "max" }),
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }),
    fc.string({
      unit: fc.constantFrom("a", ".", "=", "/", "2", "E", ":", "é", "\u{1F980}"),
      minLength: 1,
      maxLength: 256,
    }),
  )
  .map((key) => key.replaceAll("\0", ""))
  .filter((key) => key.length > 0 && key.length <= 512);

const NAME = /^[-/_=.a-zA-Z0-9]+$/;

test("every allowed key is recovered from its name, which is valid for the bucket and the protocol", () => {
  fc.assert(
    fc.property(KEY, (key) => {
      const { name, whole } = keyNameOf(key);
      expect(name).toMatch(NAME);
      expect(name).not.toMatch(/^\.|\.$|\.\./);
      expect(name.length).toBeLessThanOrEqual(1024);
      expect(isBarrierName(name)).toBe(false);
      expect(keyOfName(name, () => whole ?? undefined)).toBe(key);
    }),
  );
});

test("different keys have different names", () => {
  fc.assert(
    fc.property(KEY, KEY, (one, other) => {
      expect(keyNameOf(one).name === keyNameOf(other).name).toBe(one === other);
    }),
  );
});

test.each([
  ["r/conformance/0198-abc_X", "r/conformance/0198-abc_X"],
  ["r/a.b", "r/a.b"],
  ["r/eu:payments", "r/eu=3Apayments"],
  ["a=b", "a=3Db"],
  [".a..b.", "=2Ea=2E=2Eb=2E"],
  ["r/...", "r/=2E=2E=2E"],
  ["é .x", "=C3=A9=20.x"],
  ["*>", "=2A=3E"],
])("the key %s is named %s", (key, name) => {
  expect(keyNameOf(key)).toEqual({ name, whole: null });
});

test("a name too long for a subject is a hash of 70 characters, and the whole name is sent with it", () => {
  const key = "漢".repeat(512);
  const { name, whole } = keyNameOf(key);
  expect(name).toMatch(/^=long\.[0-9a-f]{64}$/);
  expect(whole).toBe("=E6=BC=A2".repeat(512));
  expect(keyOfName(name, () => undefined)).toBeNull();
  expect(keyOfName(name, () => "=41")).toBeNull();
});

test("a name that the store did not make is not a key", () => {
  for (const name of [
    barrierNameOf(0),
    "=head",
    "=41",
    "=3d",
    "=",
    "=C3",
    "=FF=FE",
    "a=",
    "a=2Eb",
    "=long.x",
    "x".repeat(1025),
  ]) {
    expect([name, keyOfName(name, () => undefined)]).toEqual([name, null]);
  }
});
