import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Tree } from "./tree.js";

const tree = new Tree("/some/path");

/** Keys that `checkBatch` allows. */
const key = fc
  .oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 100 }),
    fc.string({
      unit: fc.constantFrom(".", "/", "%", "2", "F", "\u0001", "\u{1F980}"),
      minLength: 1,
      maxLength: 8,
    }),
  )
  .filter((text) => !text.includes("\0"));

/** ZooKeeper's own rule for a name. */
const NAME = /^(?!\.{1,2}$)[\u0020-\u007e]+$/;

describe("Tree", () => {
  test("every key has a node name that ZooKeeper allows, and is found by it", () => {
    fc.assert(
      fc.property(key, (text) => {
        const path = tree.path(text);
        const [, some, name, bucket, ...rest] = path.split("/");
        expect([some, name, rest.length]).toEqual(["some", "path", 1]);
        expect(tree.buckets).toContain(`/some/path/${bucket}`);
        expect(rest[0]).toMatch(NAME);
        expect(tree.key(path)).toBe(text);
      }),
    );
  });

  test("a node name is never longer than ZooKeeper allows", () => {
    expect(tree.path("漢".repeat(512)).length).toBeLessThan(5000);
    expect(tree.path("\u{10FFFF}".repeat(256)).length).toBeLessThan(5000);
  });

  test("the path of a key never changes between versions", () => {
    expect(
      ["r/orders", "h/orders", "m/orders", "r/a:b", ".", "..", "漢"].map((each) => tree.path(each)),
    ).toEqual([
      "/some/path/2f/r%2Forders",
      "/some/path/09/h%2Forders",
      "/some/path/3c/m%2Forders",
      "/some/path/25/r%2Fa%3Ab",
      "/some/path/31/%2E",
      "/some/path/0d/%2E%2E",
      "/some/path/25/%E6%BC%A2",
    ]);
  });

  test("keys are spread evenly over the buckets", () => {
    const counts = new Map<string, number>();
    for (let i = 0; i < 64_000; i++) {
      const bucket = tree.path(`r/group-${i}`).slice(0, "/some/path/00".length);
      counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
    }
    expect(counts.size).toBe(64);
    expect(Math.max(...counts.values())).toBeLessThan(1500);
  });

  test("other nodes are not keys of the store", () => {
    const wrongBucket = tree.path("r/a") === "/some/path/00/r%2Fa" ? "01" : "00";
    const others = [
      "/some/path",
      "/some/path/00",
      "/some/path/00/",
      "/some/pathology/00/a",
      "/other",
      "/some/path/00/%zz",
      "/some/path/xy/r%2Fa",
      `/some/path/${wrongBucket}/r%2Fa`,
      `${tree.path("r/a").slice(0, "/some/path/00".length)}/r%2fa`,
    ];
    for (const path of others) expect(tree.key(path), path).toBeNull();
  });

  test("the trunk is the root and all its parents", () => {
    expect(tree.trunk).toEqual(["/some", "/some/path"]);
    expect(new Tree("/a").trunk).toEqual(["/a"]);
  });
});
