import { InvalidRequestError } from "../errors.js";
import type { CasOp, StoreLimits } from "./store.js";

/** Refuses a batch that no engine could write, or that exceeds the limits of this one. Nothing has been sent by then. */
export function checkBatch(batch: readonly CasOp[], { batchOps, keyLength, valueBytes }: StoreLimits): void {
  if (batch.length > batchOps) {
    throw new InvalidRequestError(
      "batch",
      `has ${batch.length} operations; the store accepts at most ${batchOps}`,
    );
  }
  // A batch of one is common and needs no set.
  const seen = batch.length > 1 ? new Set<string>() : null;
  for (let i = 0; i < batch.length; i++) {
    const { key, expected, value } = batch[i] as CasOp;
    if (typeof key !== "string" || key.length === 0 || key.length > keyLength) {
      throw new InvalidRequestError(`batch[${i}].key`, `must be a string of 1 to ${keyLength} characters`);
    }
    checkText(key, i, "key");
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
    checkText(value, i, "value");
    // A UTF-16 code unit is at most three bytes, so most values need not be counted.
    if (3 * value.length > valueBytes && Buffer.byteLength(value) > valueBytes) {
      throw new InvalidRequestError(
        `batch[${i}].value`,
        `of ${key} takes ${Buffer.byteLength(value)} bytes; the store accepts at most ${valueBytes}`,
      );
    }
  }
}

/** Half of a surrogate pair has no UTF-8 form, so an engine would return something else. */
function checkText(text: string, index: number, name: "key" | "value"): void {
  if (text.includes("\0"))
    throw new InvalidRequestError(`batch[${index}].${name}`, "must not contain U+0000");
  if (!text.isWellFormed())
    throw new InvalidRequestError(`batch[${index}].${name}`, "must be well-formed Unicode");
}
