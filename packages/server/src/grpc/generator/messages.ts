/** The messages that methods need, from the shapes of the wire. */
import { isFree, LIST_FIELD, type Schema } from "../message-codec.js";

/** What a shape says about its message. */
export interface Shape extends Schema {
  readonly title?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

export interface Field {
  /** As in the file, such as `int64` or `repeated Group`. */
  readonly type: string;
  /** An absent value is different from the default of the type. */
  readonly isOptional: boolean;
  readonly comment: string;
}

export interface Message {
  readonly comment: string;
  readonly fields: ReadonlyMap<string, Field>;
}

const SCALARS: Readonly<Record<string, string>> = {
  string: "string",
  integer: "int64",
  number: "double",
  boolean: "bool",
};

/**
 * Switches for which absent and false mean the same. They have no `optional` in the file, which clients were generated from: adding
 * `optional` would keep their bytes but change that code.
 */
const PLAIN_SWITCHES: ReadonlySet<string> = new Set([
  "UpdateRequest.allow_all_nodes",
  "DeleteRequest.force",
  "StepDownRequest.force",
]);

/** Collects messages by their names. Shapes of the same name become one message with the fields of all of them. */
export class Messages {
  readonly all: Map<string, Message> = new Map();

  /** Adds the message of this shape and those inside of it, and returns its name. */
  add(shape: Shape, name: string): string {
    const { properties = {}, required = [], description = "" } = shape;
    const before = this.all.get(name);
    const fields = new Map<string, Field>();
    // Before its fields, so that the file has a message before those inside of it.
    this.all.set(name, { comment: before?.comment || description, fields: before?.fields ?? fields });
    for (const [key, property] of Object.entries(properties)) {
      const field = this.#field(property, required.includes(key), `${name}.${key}`);
      fields.set(key, before === undefined ? field : merged(field, before.fields.get(key), `${name}.${key}`));
    }
    for (const [key, field] of before?.fields ?? [])
      if (!fields.has(key)) fields.set(key, merged(field, undefined, `${name}.${key}`));
    this.all.set(name, { comment: before?.comment || description, fields });
    return name;
  }

  #field(shape: Shape, isRequired: boolean, place: string): Field {
    const type = this.#type(shape, place);
    const isScalar = isFree(shape) || (shape.items === undefined && shape.properties === undefined);
    const isMessage = !isScalar && !type.startsWith("repeated ");
    return {
      type,
      isOptional: isScalar && !PLAIN_SWITCHES.has(place) && canBeAbsent(shape, isRequired),
      comment: isMessage ? "" : commentOf(shape),
    };
  }

  #type(shape: Shape, place: string): string {
    if (isFree(shape) || shape.enum !== undefined) return "string";
    if (shape.properties !== undefined) return this.add(shape, titleOf(shape, place));
    if (shape.items === undefined) {
      const scalar = SCALARS[shape.type ?? ""];
      if (scalar === undefined) throw new Error(`${place} has no form in messages: ${JSON.stringify(shape)}`);
      return scalar;
    }
    if (shape.nullable === true) {
      const { description = "", nullable: _, ...list } = shape;
      const inner = { description, properties: { [LIST_FIELD]: list }, required: [LIST_FIELD] };
      return this.add(inner, titleOf(shape, place));
    }
    const item = this.#type(shape.items, place);
    if (item.startsWith("repeated "))
      throw new Error(`${place} is a list of lists, which messages cannot have`);
    return `repeated ${item}`;
  }
}

function canBeAbsent(shape: Shape, isRequired: boolean): boolean {
  // The empty text, which is the default, is not JSON.
  return !isRequired || shape.nullable === true || isFree(shape);
}

function titleOf({ title }: Shape, place: string): string {
  if (title !== undefined) return title;
  throw new Error(`${place} is a message without a name: give its shape in packages/api a title`);
}

function merged(field: Field, other: Field | undefined, place: string): Field {
  if (other !== undefined && other.type !== field.type)
    throw new Error(`${place} is ${other.type} in one shape and ${field.type} in another of the same title`);
  const isScalar = Object.values(SCALARS).includes(field.type);
  return {
    type: field.type,
    isOptional: isScalar && (other === undefined || other.isOptional || field.isOptional),
    comment: other?.comment || field.comment,
  };
}

/** Its words, description and bounds: a file of messages has no other place for them. */
function commentOf(shape: Shape): string {
  const words = shape.enum?.map((word) => JSON.stringify(word));
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = shape;
  return [
    words === undefined ? "" : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}.`,
    shape.description ?? "",
    isFree(shape) ? "As JSON text." : "",
    shape.items !== undefined && isFree(shape.items) ? "Each as JSON text." : "",
    bounds(minimum, maximum, ""),
    // Ids have a pattern; the opening of the file describes them.
    shape.pattern === undefined ? bounds(minLength, maxLength, " characters") : "",
    bounds(minItems, maxItems, " items"),
  ]
    .filter((part) => part !== "")
    .join(" ");
}

function bounds(min: number | undefined, max: number | undefined, unit: string): string {
  // All numbers that count something are at least 0.
  if (max === undefined) return min === undefined || min === 0 ? "" : `At least ${min}${unit}.`;
  return min === undefined ? `At most ${max}${unit}.` : `${min} to ${max}${unit}.`;
}
