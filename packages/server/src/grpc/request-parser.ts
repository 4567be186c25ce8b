import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { parseJson } from "../wire/parse-json.js";
import { schemaProblem } from "../wire/schema-problem.js";
import { ServiceError } from "../service-error.js";

/**
 * Turns a decoded message into the body that the JSON API would have got, and judges it by the same schema, in the same
 * words.
 */
export function requestParser<S extends TSchema>(schema: S): (message: Record<string, unknown>) => Static<S> {
  const validator = Compile(schema);
  return (message) => {
    const body = bodyOf(message);
    if (validator.Check(body)) return body;
    const [refusal] = validator.Errors(body);
    if (refusal === undefined) throw new Error("a schema refused without a reason");
    const { field, problem } = schemaProblem({
      ...refusal,
      params: ajvParams(refusal.params),
      parentSchema: schemaAt(schema, refusal.schemaPath),
    });
    throw new ServiceError("INVALID_REQUEST", `${field} ${problem}`, { field });
  };
}

/** What protobuf cannot say as JSON does: objects of any shape, and a list that may be none at all. */
function bodyOf(message: Record<string, unknown>, place = ""): Record<string, unknown> {
  const { metadata, allowed_nodes, campaigns } = message;
  if (metadata === undefined && allowed_nodes === undefined && campaigns === undefined) return message;
  const body = { ...message };
  if (metadata !== undefined) body["metadata"] = parseMetadata(metadata as string, `${place}metadata`);
  if (campaigns !== undefined) {
    body["campaigns"] = (campaigns as Record<string, unknown>[]).map((each, index) =>
      bodyOf(each, `campaigns[${index}].`),
    );
  }
  if (allowed_nodes !== undefined) body["allowed_nodes"] = (allowed_nodes as { node_ids: string[] }).node_ids;
  return body;
}

function parseMetadata(text: string, field: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    const message = `${field} must be a JSON object as text, without __proto__ and constructor.prototype`;
    throw new ServiceError("INVALID_REQUEST", message, { field }, { cause });
  }
}

/** TypeBox names all that is missing, Ajv the first. */
function ajvParams(params: object): Record<string, string> {
  const [missing] = (params as { requiredProperties?: readonly string[] }).requiredProperties ?? [];
  return missing === undefined ? {} : { missingProperty: missing };
}

/** What a path such as `#/properties/policy` leads to. */
function schemaAt(schema: object, path: string): object {
  return path
    .split("/")
    .slice(1)
    .reduce((at, step) => (at as Readonly<Record<string, object>>)[step] ?? {}, schema);
}
