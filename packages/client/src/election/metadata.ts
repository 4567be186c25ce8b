import { InvalidRequestError, type Metadata } from "@tenure/core";
import { checkMetadata } from "@tenure/core/internal";

/**
 * Checks metadata like the elector does, so that a bad value is refused where it is given. A value that JSON would
 * silently leave out or change is refused too, with its path.
 */
export function parseMetadata(given: unknown, field: string): Metadata | undefined {
  if (typeof given === "object") checkJson(given, field, []);
  return checkMetadata(given, field);
}

function checkJson(value: unknown, path: string, above: readonly unknown[]): void {
  if (value === null || typeof value === "string" || typeof value === "boolean") return;
  if (typeof value === "number" && Number.isFinite(value)) return;
  if (typeof value !== "object") {
    const what = typeof value === "number" ? String(value) : `of type ${typeof value}`;
    throw new InvalidRequestError(path, `is ${what}, which JSON cannot hold; leave it out`);
  }
  if (above.includes(value)) throw new InvalidRequestError(path, "contains itself, which JSON cannot hold");
  const within = [...above, value];
  // Like JSON: a date becomes its text.
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (typeof toJSON === "function") return checkJson(toJSON.call(value), path, within);
  if (Array.isArray(value)) {
    for (const [index, each] of value.entries()) checkJson(each, `${path}[${index}]`, within);
    return;
  }
  for (const [key, each] of Object.entries(value)) {
    // An optional field that is left out.
    if (each !== undefined) checkJson(each, `${path}.${key}`, within);
  }
}
