/** Checks at the border, by core's rules: each names the field, and returns the value with its type. */
import { InvalidRequestError } from "@tenure/core";
import { LIMITS } from "@tenure/core/internal";

const ID = /^[A-Za-z0-9._:/-]+$/;
const TERM = /^[1-9][0-9]{0,15}$/;

export function isId(value: unknown): value is string {
  const isOfForm = typeof value === "string" && value.length <= LIMITS.idLength && ID.test(value);
  return isOfForm && value !== "." && value !== "..";
}

export function isTerm(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

/** `null` if it is not a term in plain decimal. */
export function parseTerm(text: string): number | null {
  const term = TERM.test(text) ? Number(text) : Number.NaN;
  return isTerm(term) ? term : null;
}

export function checkId(value: unknown, field: string): string {
  if (!isId(value)) {
    throw new InvalidRequestError(
      field,
      `must be 1 to ${LIMITS.idLength} characters of A-Z a-z 0-9 . _ : / -, not "." or ".."`,
    );
  }
  return value;
}

export function checkTerm(value: unknown, field: string): number {
  if (!isTerm(value)) throw new InvalidRequestError(field, "must be a whole number from 1 on");
  return value;
}

export function checkKeys(value: object, known: readonly string[]): void {
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) {
      throw new InvalidRequestError(key, `is not known here; known are ${known.join(", ")}`);
    }
  }
}
