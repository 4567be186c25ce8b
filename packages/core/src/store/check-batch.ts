import { InvalidRequestError } from "../errors.js";
import type { CasOp, StoreLimits } from "./store.js";

/** Room for every key of ours (a prefix and an id of 200 characters), within what every engine can index. */
const LONGEST_KEY = 512;

/** Half a character, which no engine that speaks UTF-8 gives back as it was. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * What a store refuses before it sends anything: a batch that fails here has written nothing. All but the length of a value
 * would fail on every engine.
 */
export function checkBatch(batch: readonly CasOp[], { valueBytes }: StoreLimits): void {
  // A batch of one is the common case for a lone caller, and needs no set.
  const seen = batch.length > 1 ? new Set<string>() : null;
  for (let i = 0; i < batch.length; i++) {
    const { key, expected, value } = batch[i] as CasOp;
    if (typeof key !== "string" || key.length === 0 || key.length > LONGEST_KEY) {
      throw new InvalidRequestError(`batch[${i}].key`, `must be a string of 1 to ${LONGEST_KEY} characters`);
    }
    checkText(`batch[${i}].key`, key);
    if (seen !== null && seen.size === seen.add(key).size) {
      throw new InvalidRequestError(
        `batch[${i}].key`,
        `names ${key} a second time; a batch names a key once`,
      );
    }
    if (expected !== null && !(Number.isSafeInteger(expected) && expected > 0)) {
      throw new InvalidRequestError(`batch[${i}].expected`, "must be a revision, or null for an absent key");
    }
    if (typeof value !== "string") throw new InvalidRequestError(`batch[${i}].value`, "must be a string");
    checkText(`batch[${i}].value`, value);
    // A character is at most three bytes, so most values need no count.
    if (3 * value.length > valueBytes && Buffer.byteLength(value) > valueBytes) {
      throw new InvalidRequestError(
        `batch[${i}].value`,
        `of ${key} takes ${Buffer.byteLength(value)} bytes, the store admits ${valueBytes}`,
      );
    }
  }
}

function checkText(field: string, text: string): void {
  if (text.includes("\0")) throw new InvalidRequestError(field, "must not contain U+0000");
  if (LONE_SURROGATE.test(text)) throw new InvalidRequestError(field, "must be well-formed Unicode");
}
