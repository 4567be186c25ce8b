import { expect, test } from "vitest";
import { Ledger } from "./ledger.test-kit.js";

test("a ledger of leaders with rising terms and without overlap has no violations", () => {
  const ledger = new Ledger();
  ledger.won("g", "a", 1, 0, 100).untilMs = 150;
  ledger.won("g", "b", 2, 150, 300);
  ledger.won("g", "b", 3, 250, 400);
  ledger.won("h", "b", 1, 0, 500);
  expect(ledger.violations()).toEqual([]);
  expect(ledger.wins).toBe(4);
});

test.each([
  ["one term, two holders", 1, 200, "b"],
  ["the term went back", 0, 200, "a"],
  ["two inside their deadlines", 2, 99, "b"],
])("the ledger reports the violation: %s", (what, term, fromMs, nodeId) => {
  const ledger = new Ledger();
  ledger.won("g", "a", 1, 0, 100);
  ledger.won("g", nodeId, term, fromMs, 300);
  expect(ledger.violations()).toEqual([expect.stringContaining(what)]);
});
