/**
 * Between messages of gRPC and the JSON of the HTTP API, by the schema. Two things protobuf cannot say as JSON does: objects of any
 * shape, which are JSON text in messages, and a list that may be none at all, which is a message with the list in it.
 *
 * Not a google.protobuf.Struct: it would turn integers into doubles, and protobufjs, like most, refuses to encode what is nested deeper
 * than a hundred messages: metadata that came by HTTP could not be sent.
 */
import { invalid } from "../service-error.js";
import { parseJson } from "../wire/parse-text.js";

/** The part of JSON Schema that decides the form of a message. */
export interface Schema {
  readonly type?: string;
  readonly nullable?: boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: object;
  readonly items?: Schema;
}

/** The field of a message that is a list or none. */
export const LIST_FIELD = "node_ids";

/** `place`: where the value is in the message, for error messages. */
type Convert = (value: unknown, place: string) => unknown;

/** The conversion of a value of this schema; `null` if both sides have the same value. */
export function messageReader(schema: object): Convert | null {
  return walk(schema, { free: readText, list: (value) => (value as Record<string, unknown>)[LIST_FIELD] });
}

export function messageWriter(schema: object): Convert | null {
  return walk(schema, { free: (value) => JSON.stringify(value), list: (value) => ({ [LIST_FIELD]: value }) });
}

interface Rules {
  readonly free: Convert;
  readonly list: Convert;
}

function walk(schema: Schema, rules: Rules): Convert | null {
  if (isFree(schema)) return rules.free;
  if (schema.items !== undefined) {
    const item = walk(schema.items, rules);
    const each: Convert | null =
      item === null
        ? null
        : (all, place) =>
            (all as readonly unknown[]).map((value, index) => item(value, `${place}[${index}]`));
    if (schema.nullable !== true) return each;
    return orNull((value, place) =>
      each === null ? rules.list(value, place) : each(rules.list(value, place), place),
    );
  }
  const converts = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const convert = walk(property, rules);
    return convert === null ? [] : [[name, convert] as const];
  });
  if (converts.length === 0) return null;
  return orNull((value, place) => {
    const copy = { ...(value as Record<string, unknown>) };
    for (const [name, convert] of converts) {
      if (copy[name] !== undefined)
        copy[name] = convert(copy[name], place === "" ? name : `${place}.${name}`);
    }
    return copy;
  });
}

function orNull(convert: Convert): Convert {
  return (value, place) => (value === null ? null : convert(value, place));
}

/** JSON of any shape. */
export function isFree(schema: Schema): boolean {
  const { patternProperties } = schema;
  return patternProperties !== undefined || Object.keys(schema).every((key) => key === "description");
}

function readText(text: unknown, field: string): unknown {
  try {
    return parseJson(text as string);
  } catch (cause) {
    const problem = "must be the text of a JSON object without __proto__ and constructor.prototype";
    throw invalid(field, problem, { cause });
  }
}
