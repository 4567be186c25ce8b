/** Checks of terms. Each names the field and returns the value with its type; the other checks are core's. */
import { InvalidRequestError } from "@tenure/core";

const TERM = /^[1-9][0-9]{0,15}$/;

export function isTerm(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

/** `null` if `text` is not a term in plain decimal. */
export function parseTerm(text: string): number | null {
  const term = TERM.test(text) ? Number(text) : Number.NaN;
  return isTerm(term) ? term : null;
}

export function checkTerm(value: unknown, field: string): number {
  if (!isTerm(value)) throw new InvalidRequestError(field, "must be a whole number from 1 on");
  return value;
}
