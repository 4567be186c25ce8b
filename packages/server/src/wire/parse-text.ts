/** Values from the text of callers. */
import secureJson from "secure-json-parse";
import { invalid } from "../service-error.js";

/**
 * Parses the JSON of a caller, over any transport. Throws a `SyntaxError` for text that is not JSON, and for the keys `__proto__` and
 * `constructor.prototype`: copying such an object would change the prototype of all objects.
 */
export function parseJson(text: string): unknown {
  return secureJson.parse(text, undefined, { protoAction: "error", constructorAction: "error" }) as unknown;
}

/** Parses a number of a query string. Any other text than digits is refused. */
export function parseCount(text: string, field: string): number {
  if (/^\d{1,16}$/.test(text)) return Number(text);
  throw invalid(field, "must be a whole number");
}
