import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { schemaProblem } from "../wire/schema-problem.js";
import { invalid } from "../service-error.js";
import { messageReader } from "./message-codec.js";

/**
 * Turns a decoded message into the body that the JSON API would have got, and judges it by the same schema, in the same
 * words.
 */
export function requestParser<S extends TSchema>(schema: S): (message: Record<string, unknown>) => Static<S> {
  const validator = Compile(schema);
  const read = messageReader(schema);
  return (message) => {
    const body = read === null ? message : read(message, "");
    if (validator.Check(body)) return body;
    const [refusal] = validator.Errors(body);
    if (refusal === undefined) throw new Error("a schema refused without a reason");
    const { field, problem } = schemaProblem({
      ...refusal,
      params: ajvParams(refusal.params),
      parentSchema: schemaAt(schema, refusal.schemaPath),
    });
    throw invalid(field, problem);
  };
}

/** TypeBox reports all missing fields; as with Ajv, the first one is used. */
function ajvParams(params: object): Record<string, string> {
  const [missing] = (params as { requiredProperties?: readonly string[] }).requiredProperties ?? [];
  return missing === undefined ? {} : { missingProperty: missing };
}

/** The schema at a path such as `#/properties/policy`. */
function schemaAt(schema: object, path: string): object {
  return path
    .split("/")
    .slice(1)
    .reduce((at, step) => (at as Readonly<Record<string, object>>)[step] ?? {}, schema);
}
