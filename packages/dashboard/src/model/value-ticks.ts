/** Three round values from 0 to at least `most`; of what is counted, whole ones. */
export function valueTicks(most: number, isWhole = false): readonly number[] {
  if (most <= 0) return [0, 1, 2];
  const power = 10 ** Math.floor(Math.log10(most / 2));
  const step = ([1, 2, 2.5, 5, 10].find((each) => each * power * 2 >= most) ?? 10) * power;
  const rounded = isWhole ? Math.ceil(step) : step;
  return [0, rounded, 2 * rounded];
}
