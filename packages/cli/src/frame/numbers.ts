import { InvalidArgumentError } from "commander";

export function parseWhole(text: string): number {
  const number = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(number)) throw new InvalidArgumentError("Say a whole number.");
  return number;
}

export function parseShare(text: string): number {
  const number = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!(number >= 0 && number <= 1)) throw new InvalidArgumentError("Say a number from 0 to 1.");
  return number;
}

/** The value that this share of all does not pass (nearest rank). */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}
