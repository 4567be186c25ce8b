import { ID_CHARACTERS, LIMITS } from "@tenure/core/internal";

const PATTERN = new RegExp(`^[*${ID_CHARACTERS}]+$`);
const CONTROL = /\p{Cc}/u;

/** A group id in which `*` may stand for any characters. */
export function isGroupPattern(value: unknown): value is string {
  return isShort(value) && PATTERN.test(value);
}

/** The name of a caller that takes part in no election. It is shown to people and compared with nothing. */
export function isPersonName(value: unknown): value is string {
  return isShort(value) && !CONTROL.test(value) && value.trim() !== "";
}

function isShort(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= LIMITS.idLength;
}
