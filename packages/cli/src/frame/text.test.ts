import * as fc from "fast-check";
import { expect, it } from "vitest";
import { type Cell, paintFor, table } from "./text.js";

it.each([
  ["a terminal", true, {}, true],
  ["a terminal with an empty NO_COLOR", true, { NO_COLOR: "" }, true],
  ["a terminal with NO_COLOR", true, { NO_COLOR: "1" }, false],
  ["a dumb terminal", true, { TERM: "dumb" }, false],
  ["a pipe", false, {}, false],
])("colours are chosen for %s", (_case, isTerminal, env, isColoured) => {
  expect(paintFor(isTerminal, env)("red", "x")).toBe(isColoured ? "\u001B[31mx\u001B[39m" : "x");
});

const LONG = "shop/eu-central-1/checkout/payments/settlement-of-card-transactions";

it("a table fits the terminal: long ids are clipped in the middle, short columns stay whole", () => {
  const rows = [
    ["GROUP", "STATE", "TERM"],
    [LONG, "led", "3"],
    ["billing", "paused", "12"],
  ];
  const lines = table(rows, { columns: 40 });
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(40);
  expect(lines[1]).toMatch(/^shop\/eu.*….*transactions {2}led {5}3$/);
  expect(lines[2]).toMatch(/^billing +paused {2}12$/);
  expect(table(rows)[1]).toContain(LONG);
});

it("a table never exceeds the terminal, however narrow", () => {
  const cell = fc.string({ unit: "grapheme-ascii", maxLength: 60 });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(cell, cell, cell), { minLength: 1 }),
      fc.integer({ min: 1, max: 120 }),
      (rows, columns) => {
        for (const line of table(rows, { columns })) expect(line.length).toBeLessThanOrEqual(columns);
      },
    ),
  );
});

it("an id is clipped in the middle, and a text of several words at its end", () => {
  expect(table([["abcdefghijklmnop", "x"]], { columns: 12 })).toEqual(["abcd…mnop  x"]);
  expect(table([["a text of words", "x"]], { columns: 13 })).toEqual(["a text of…  x"]);
});

it("a painted cell is clipped and padded like any other", () => {
  const rows: Cell[][] = [
    [["green", "led"], "x"],
    ["paused", "y"],
  ];
  expect(table(rows, { columns: 20, paint: paintFor(true, {}) })).toEqual([
    "\u001B[32mled     \u001B[39mx",
    "paused  y",
  ]);
});
