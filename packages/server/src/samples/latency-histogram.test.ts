import { Random } from "@tenure/core/testing";
import { expect, test } from "vitest";
import { LatencyHistogram } from "./latency-histogram.js";

/** The value of this rank among the sorted values. */
function exact(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(share * values.length) - 1] as number;
}

test("percentiles of a latency histogram are within 1.1 % of the exact ones, from microseconds to days", () => {
  const random = new Random(7);
  for (const [least, most] of [
    [0.02, 0.5],
    [0.5, 30],
    [400, 1100],
    [10, 86_400_000],
  ] as const) {
    const histogram = new LatencyHistogram();
    const values = Array.from({ length: 5000 }, () => least * (most / least) ** random.next());
    for (const each of values) histogram.record(each);
    for (const share of [0.01, 0.5, 0.9, 0.99, 0.999, 1]) {
      const ratio = (histogram.percentile(share) as number) / exact(values, share);
      expect([share, least, Math.abs(Math.log(ratio)) < Math.log(1.011)]).toEqual([share, least, true]);
    }
    expect(histogram.maxMs).toBe(Math.max(...values));
  }
});

test("a latency histogram of one value returns that value, and an empty one returns null", () => {
  const histogram = new LatencyHistogram();
  expect([histogram.percentile(0.5), histogram.maxMs]).toEqual([null, null]);
  histogram.record(698);
  expect([histogram.percentile(0.5), histogram.percentile(0.99), histogram.maxMs]).toEqual([698, 698, 698]);
  histogram.clear();
  expect([histogram.percentile(0.5), histogram.maxMs, histogram.count]).toEqual([null, null, 0]);
  histogram.record(0);
  expect(histogram.percentile(1)).toBe(0);
});
