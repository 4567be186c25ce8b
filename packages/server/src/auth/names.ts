import { LIMITS } from "@tenure/core/internal";

const ID = /^[A-Za-z0-9._:/-]+$/;
const PATTERN = /^[A-Za-z0-9._:/*-]+$/;
const CONTROL = /\p{Cc}/u;

/** The rule of node ids, as core checks it in requests. */
export function isId(value: unknown): value is string {
  return isShort(value) && ID.test(value) && value !== "." && value !== "..";
}

/** A group id in which `*` may stand for any characters. */
export function isGroupPattern(value: unknown): value is string {
  return isShort(value) && PATTERN.test(value);
}

/** Of somebody who takes part in no election: shown to people, compared with nothing. */
export function isPersonName(value: unknown): value is string {
  return isShort(value) && !CONTROL.test(value) && value.trim() !== "";
}

function isShort(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= LIMITS.idLength;
}
