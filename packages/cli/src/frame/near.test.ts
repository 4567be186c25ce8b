import { expect, it } from "vitest";
import { nearest, suggestion } from "./near.js";

it.each([
  ["lst", ["list", "show", "create"], ["list"]],
  ["nope/typo", ["nope/typ", "nope/other", "billing"], ["nope/typ"]],
  ["bililng", ["billing"], ["billing"]],
  ["bill", ["billing", "billing/eu"], ["billing", "billing/eu"]],
  ["a", ["b", "ab"], ["ab", "b"]],
  ["payments", ["billing", "shop"], []],
  ["same", ["same"], []],
])("for the name %s of %j the suggestions are %j", (typed, names, near) => {
  expect(nearest(typed, names)).toEqual(near);
});

it("a suggestion names all near names, and the other text replaces it if there is none", () => {
  expect(suggestion(["a"], "none")).toBe("did you mean a?");
  expect(suggestion(["a", "b", "c"], "none")).toBe("did you mean a, b or c?");
  expect(suggestion([], "none")).toBe("none");
});
