import { InvalidRequestError } from "./errors.js";

/** Checks at the border. Each names the field and the bound, and returns the value with its type. */
export const LIMITS = {
  idLength: 200,
  metadataBytes: 4096,
  priority: 1_000_000,
  waitMs: 60_000,
  banMs: 86_400_000,
  pauseMs: 604_800_000,
  transferMs: 60_000,
  reasonLength: 500,
  allowedNodes: 256,
  renewMany: 1000,
  groupsPage: 1000,
} as const;

/**
 * The least of `quietMs` and `silenceMs` of a watch. A server gives a sign of life every 500 ms at most, which may be late by 3/4 of that;
 * and one that is busy for a second or two must not lose its watches.
 */
export const MIN_WATCH_MS = { quiet: 875, silence: 2500 } as const;

/** The characters of an id, as the inside of a character class of a regular expression. The `-` is last and stands for itself. */
export const ID_CHARACTERS = "A-Za-z0-9._:/-";

/** The pattern of an id, for JSON schemas. Its length is limited by `LIMITS.idLength`; "." and ".." are refused by `isId`. */
export const ID_PATTERN: string = `^[${ID_CHARACTERS}]+$`;

const ID = new RegExp(ID_PATTERN);

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Absent takes the default; `null` is no value and is left for the check to refuse. */
export function either(value: unknown, byDefault: unknown): unknown {
  return value === undefined ? byDefault : value;
}

export function checkKeys(value: object, field: string, known: readonly string[]): void {
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) {
      const place = field === "" ? key : `${field}.${key}`;
      throw new InvalidRequestError(place, `is not known here; known are ${known.join(", ")}`);
    }
  }
}

export function checkNumber(value: unknown, field: string, min: number, max: number): number {
  if (typeof value !== "number" || !(value >= min && value <= max)) {
    throw new InvalidRequestError(field, `must be a number from ${min} to ${max}`);
  }
  return value;
}

export function checkInteger(value: unknown, field: string, min: number, max: number): number {
  if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max) {
    throw new InvalidRequestError(field, `must be a whole number from ${min} to ${max}`);
  }
  return value as number;
}

/** The rule for ids of groups, nodes and instances. "." and ".." are refused because an id can be part of a URL path. */
export function isId(value: unknown): value is string {
  return hasIdForm(value) && value !== "." && value !== "..";
}

export function checkId(value: unknown, field: string): string {
  if (!hasIdForm(value)) {
    throw new InvalidRequestError(
      field,
      `must be 1 to ${LIMITS.idLength} characters of A-Z a-z 0-9 . _ : / -`,
    );
  }
  if (!isId(value)) throw new InvalidRequestError(field, 'must not be "." or ".."');
  return value;
}

function hasIdForm(value: unknown): value is string {
  return typeof value === "string" && value.length <= LIMITS.idLength && ID.test(value);
}

/** A JSON object, copied and frozen, so that what was checked is what is kept. */
export function checkMetadata(value: unknown, field: string): Readonly<Record<string, unknown>> | undefined {
  if (value === undefined) return undefined;
  if (!isObject(value)) throw new InvalidRequestError(field, "must be an object");
  let text: string;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new InvalidRequestError(field, "must be JSON", { cause });
  }
  // A `toJSON` may turn the object into anything.
  const copy: unknown = text === undefined ? undefined : JSON.parse(text);
  if (!isObject(copy)) throw new InvalidRequestError(field, "must be an object");
  const bytes = Buffer.byteLength(text);
  if (bytes > LIMITS.metadataBytes) {
    throw new InvalidRequestError(
      field,
      `is ${bytes} bytes as JSON, at most ${LIMITS.metadataBytes} are kept`,
    );
  }
  return Object.freeze(copy);
}
