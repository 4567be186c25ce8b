import secureJson from "secure-json-parse";

/**
 * JSON of callers, by whatever transport it came. Throws a `SyntaxError` for what is not JSON, and for the keys `__proto__` and
 * `constructor.prototype`: whoever copies such an object would change what all objects have.
 */
export function parseJson(text: string): unknown {
  return secureJson.parse(text, undefined, { protoAction: "error", constructorAction: "error" }) as unknown;
}
