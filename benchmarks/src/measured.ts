/** What callers saw in one turn. */
export interface Measured {
  readonly count: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** `perCall`: how many of what is counted one call does. Latencies stay those of a call. */
export function measuredOf(latenciesMs: number[], tookMs: number, perCall: number): Measured {
  latenciesMs.sort((a, b) => a - b);
  const at = (share: number) => latenciesMs[Math.ceil(share * latenciesMs.length) - 1] ?? Number.NaN;
  const count = latenciesMs.length * perCall;
  return { count, perSecond: (count * 1000) / tookMs, p50Ms: at(0.5), p99Ms: at(0.99) };
}
