import { expect, test } from "vitest";
import { type Quantity, scaleOf, valueText } from "./scale.js";

test.each<[number, Quantity, string[]]>([
  [995, "ms", ["0 ms", "500 ms", "1000 ms"]],
  [1500, "ms", ["0 s", "1 s", "2 s"]],
  [90_000, "ms", ["0 min", "1 min", "2 min"]],
  [0.3, "ms", ["0 ms", "0.2 ms", "0.4 ms"]],
  [0, "ms", ["0 ms"]],
  [1, "count", ["0", "1", "2"]],
  [0.6, "rate", ["0", "0.5", "1"]],
  [127, "count", ["0", "100", "200"]],
  [90 * 2 ** 20, "bytes", ["0 MiB", "50 MiB", "100 MiB"]],
])("the axis up to %d of %s has the labels %j, all in one unit", (most, quantity, labels) => {
  const { ticks, highest, label } = scaleOf(most, quantity);
  expect(ticks.map(label)).toEqual(labels);
  expect(highest).toBeGreaterThanOrEqual(most);
});

test("a single value is written in the unit that suits it", () => {
  expect([
    valueText(14.2, "ms"),
    valueText(1234, "ms"),
    valueText(3, "count"),
    valueText(0.83, "rate"),
  ]).toEqual(["14 ms", "1.2 s", "3", "0.8"]);
});
