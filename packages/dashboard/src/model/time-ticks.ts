const STEPS_MS = [
  1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000,
  7_200_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000, 172_800_000, 604_800_000, 2_592_000_000,
];

/** Round moments between two times, at most `most` of them, neither at the very edge. */
export function timeTicks(fromMs: number, toMs: number, most: number): readonly number[] {
  const spreadMs = toMs - fromMs;
  const stepMs = STEPS_MS.find((step) => spreadMs / step <= most) ?? spreadMs;
  const ticks: number[] = [];
  const edgeMs = spreadMs * 0.03;
  for (let tick = Math.ceil(fromMs / stepMs) * stepMs; tick <= toMs - edgeMs; tick += stepMs) {
    if (tick >= fromMs + edgeMs) ticks.push(tick);
  }
  return ticks;
}
