import { expect, it } from "vitest";
import { paintFor } from "./text.js";

it.each([
  ["a terminal", true, {}, true],
  ["a terminal with an empty NO_COLOR", true, { NO_COLOR: "" }, true],
  ["a terminal with NO_COLOR", true, { NO_COLOR: "1" }, false],
  ["a dumb terminal", true, { TERM: "dumb" }, false],
  ["a pipe", false, {}, false],
])("colours are chosen for %s", (_case, isTerminal, env, isColoured) => {
  expect(paintFor(isTerminal, env)("red", "x")).toBe(isColoured ? "\u001B[31mx\u001B[39m" : "x");
});
