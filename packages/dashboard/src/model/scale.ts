/** A vertical axis: round values from 0 to at least the largest, all in one unit. */

/** What an axis measures: milliseconds, things that are counted, things per time, or bytes. */
export type Quantity = "ms" | "count" | "rate" | "bytes";

export interface Scale {
  /** Rising, from 0. Only 0 where there is nothing to scale to. */
  readonly ticks: readonly number[];
  /** The value at the upper end. */
  readonly highest: number;
  /** A tick in the unit of the axis. */
  readonly label: (value: number) => string;
}

interface Unit {
  readonly size: number;
  readonly name: string;
}

const UNITS: Readonly<Record<Quantity, readonly Unit[]>> = {
  ms: [
    { size: 3_600_000, name: " h" },
    { size: 60_000, name: " min" },
    { size: 1000, name: " s" },
    { size: 1, name: " ms" },
  ],
  bytes: [
    { size: 2 ** 30, name: " GiB" },
    { size: 2 ** 20, name: " MiB" },
    { size: 2 ** 10, name: " KiB" },
  ],
  count: [{ size: 1, name: "" }],
  rate: [{ size: 1, name: "" }],
};

const STEPS = [1, 2, 2.5, 5, 10];

export function scaleOf(most: number, quantity: Quantity): Scale {
  const unit = unitOf(most, quantity);
  const label = (value: number): string => `${trimmed(value / unit.size)}${unit.name}`;
  if (most <= 0) return { ticks: [0], highest: 1, label };
  const half = most / unit.size / 2;
  const power = 10 ** Math.floor(Math.log10(half));
  const found = (STEPS.find((each) => each * power >= half) ?? 10) * power;
  const step = (quantity === "count" ? Math.ceil(found) : found) * unit.size;
  return { ticks: [0, step, 2 * step], highest: 2 * step, label };
}

/** One value on its own, in the unit that suits it. */
export function valueText(value: number, quantity: Quantity): string {
  const { size, name } = unitOf(value, quantity);
  const inUnit = value / size;
  const text = quantity === "count" || inUnit >= 10 ? inUnit.toFixed(0) : trimmed(Number(inUnit.toFixed(1)));
  return `${text}${name}`;
}

function unitOf(most: number, quantity: Quantity): Unit {
  const units = UNITS[quantity];
  return units.find(({ size }) => most >= size) ?? (units.at(-1) as Unit);
}

/** Without the noise of binary fractions: 0.3, not 0.30000000000000004. */
function trimmed(value: number): string {
  return String(Number(value.toPrecision(6)));
}
