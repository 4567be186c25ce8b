import { invalid } from "../service-error.js";

/** Query strings are texts; what is not a plain number is refused, not guessed at. */
export function parseCount(text: string, field: string): number {
  if (/^\d{1,16}$/.test(text)) return Number(text);
  throw invalid(field, "must be a whole number");
}
