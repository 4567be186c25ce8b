import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { ServiceError } from "../service-error.js";

/** Turns a decoded message into the body that the JSON API would have got, and judges it by the same schema. */
export function requestParser<S extends TSchema>(schema: S): (message: Record<string, unknown>) => Static<S> {
  const validator = Compile(schema);
  return (message) => {
    const body = bodyOf(message);
    if (validator.Check(body)) return body;
    const [first] = validator.Errors(body);
    const field = fieldOf(first?.instancePath ?? "", first?.params);
    const problem = first?.keyword === "required" ? "must be given" : (first?.message ?? "is wrong");
    throw new ServiceError("INVALID_REQUEST", `${field} ${problem}`, { field });
  };
}

/** What protobuf cannot say as JSON does: objects of any shape, and a list that may be none at all. */
function bodyOf(message: Record<string, unknown>): Record<string, unknown> {
  const { metadata, allowed_nodes } = message;
  if (metadata === undefined && allowed_nodes === undefined) return message;
  const body = { ...message };
  if (metadata !== undefined) body["metadata"] = parseMetadata(metadata as string);
  if (allowed_nodes !== undefined) body["allowed_nodes"] = (allowed_nodes as { node_ids: string[] }).node_ids;
  return body;
}

function parseMetadata(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    const field = "metadata";
    throw new ServiceError("INVALID_REQUEST", `${field} must be a JSON object as text`, { field }, { cause });
  }
}

/** Named as in the message: `policy.min_ttl_ms`, `renewals.0.node_id`, or the field that is missing. */
function fieldOf(instancePath: string, params: object = {}): string {
  const path = instancePath.split("/").filter((part) => part !== "");
  const missing = (params as { requiredProperties?: readonly string[] }).requiredProperties?.[0];
  if (missing !== undefined) path.push(missing);
  return path.length === 0 ? "request" : path.join(".");
}
