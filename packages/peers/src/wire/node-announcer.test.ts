import { describe, expect, it } from "vitest";
import { MAX_MEMBERS } from "./codec.js";
import { namedIn } from "./node-announcer.js";

describe("endpoints that another server names", () => {
  it("are taken in one spelling, and only if they can be called", () => {
    const named = ["https://n1:1/", "https://n2:1", "ftp://n3", "n4", 7, null, "https://n5:1/path"];
    expect(namedIn(named)).toEqual(["https://n1:1", "https://n2:1"]);
    expect(namedIn("https://n1:1")).toEqual([]);
    expect(namedIn(undefined)).toEqual([]);
  });

  it("are at most as many as an electorate can have: each of them is called", () => {
    const many = Array.from({ length: 10 * MAX_MEMBERS }, (_, index) => `https://n${index}:1`);
    expect(namedIn(many)).toHaveLength(MAX_MEMBERS);
  });
});
