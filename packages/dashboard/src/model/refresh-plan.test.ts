import { expect, test } from "vitest";
import { planRefresh } from "./refresh-plan.js";

const ids = Array.from({ length: 1000 }, (_, i) => `g${String(i).padStart(4, "0")}`);

test("neighbouring rows are refreshed in one page", () => {
  expect(planRefresh(ids, [0, 1, 2, 3], 3)).toEqual([{ after: null, limit: 4 }]);
  expect(planRefresh(ids, [10, 12, 40], 3)).toEqual([{ after: "g0009", limit: 31 }]);
});

test("rows far from each other are refreshed in separate pages", () => {
  expect(planRefresh(ids, [5, 500], 3)).toEqual([
    { after: "g0004", limit: 1 },
    { after: "g0499", limit: 1 },
  ]);
});

test("at most the allowed number of pages is refreshed, and each takes its turn", () => {
  const places = [0, 100, 200, 300, 400];
  const asked = [0, 1, 2, 3, 4].flatMap((turn) => {
    const pages = planRefresh(ids, places, 2, turn);
    expect(pages).toHaveLength(2);
    return pages.map(({ after }) => after);
  });
  expect(new Set(asked)).toEqual(new Set([null, "g0099", "g0199", "g0299", "g0399"]));
});

test("an empty screen refreshes no page", () => {
  expect(planRefresh(ids, [], 3, 7)).toEqual([]);
});
