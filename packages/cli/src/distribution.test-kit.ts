/** The value that this share of all values does not exceed (nearest rank). */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
}

/** One line that explains a missed bound. */
export function distribution(values: readonly number[]): string {
  const at = (share: number) => percentile(values, share).toFixed(1);
  return `n ${values.length}, min ${at(0.0001)}, p50 ${at(0.5)}, p90 ${at(0.9)}, p99 ${at(0.99)}, max ${at(1)} ms`;
}
