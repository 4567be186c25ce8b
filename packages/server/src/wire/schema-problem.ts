/** What a schema refuses, as a sentence for the caller. */
import type { FastifySchemaValidationError } from "fastify";
import { LIMITS } from "@tenure/core/internal";

export interface SchemaProblem {
  /** As in the request: `policy.min_ttl_ms`, `renewals[3].node_id`, `body`. */
  readonly field: string;
  readonly problem: string;
}

interface Schema {
  readonly type?: string;
  readonly nullable?: boolean;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
}

/** Ajv's option `verbose` adds the schema. */
type Refusal = FastifySchemaValidationError & { readonly parentSchema?: Schema };

export function schemaProblem({
  keyword,
  instancePath,
  params,
  message,
  parentSchema,
}: Refusal): SchemaProblem {
  const at = (key?: unknown) => fieldOf(instancePath, typeof key === "string" ? key : undefined);
  const schema = parentSchema ?? {};
  switch (keyword) {
    case "additionalProperties": {
      const known = Object.keys(schema.properties ?? {});
      const problem =
        known.length === 0 ? "is not known here" : `is not known here; known are ${known.join(", ")}`;
      return { field: at(params["additionalProperty"]), problem };
    }
    case "required":
      return { field: at(params["missingProperty"]), problem: "is missing" };
    case "enum":
      return { field: at(), problem: `must be one of ${(schema.enum ?? []).map(String).join(", ")}` };
    case "type":
    case "minimum":
    case "maximum":
    case "pattern":
    case "minLength":
    case "maxLength":
    case "maxItems":
      return { field: at(), problem: `must be ${wanted(schema)}` };
    default:
      return { field: at(), problem: message ?? "is invalid" };
  }
}

function wanted(schema: Schema): string {
  return schema.nullable === true ? `${kind(schema)} or null` : kind(schema);
}

function kind({ type, minimum, maximum, pattern, minLength = 0, maxLength, maxItems }: Schema): string {
  const bounds =
    (minimum === undefined ? "" : ` from ${minimum}`) + (maximum === undefined ? "" : ` to ${maximum}`);
  switch (type) {
    case "integer":
      return `a whole number${bounds}`;
    case "number":
      return `a number${bounds}`;
    case "string":
      if (pattern !== undefined) return `1 to ${LIMITS.idLength} characters of A-Z a-z 0-9 . _ : / -`;
      return maxLength === undefined ? "a text" : `a text of ${minLength} to ${maxLength} characters`;
    case "boolean":
      return "true or false";
    case "array":
      return maxItems === undefined ? "a list" : `a list of at most ${maxItems}`;
    default:
      return "a JSON object";
  }
}

function fieldOf(instancePath: string, key: string | undefined): string {
  const steps = instancePath.split("/").slice(1);
  if (key !== undefined) steps.push(key);
  return (
    steps.reduce(
      (path, step) => (path === "" ? step : /^\d+$/.test(step) ? `${path}[${step}]` : `${path}.${step}`),
      "",
    ) || "body"
  );
}
