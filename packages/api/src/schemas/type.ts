/**
 * The builders of TypeBox that the schemas need, with its types. The package itself consists of 370 files, which took a server
 * a quarter of the time that it needs to start. The schemas can be passed to TypeBox: `~kind` and `~optional` are its own marks.
 */
import type { Type as TypeBox } from "typebox";

type Builders = Pick<
  typeof TypeBox,
  | "Array"
  | "Boolean"
  | "Enum"
  | "Integer"
  | "Literal"
  | "Number"
  | "Object"
  | "Optional"
  | "Partial"
  | "Record"
  | "String"
  | "Union"
  | "Unknown"
  | "Unsafe"
>;

interface Schema {
  readonly "~kind"?: string;
  readonly "~optional"?: true;
}
interface ObjectSchema extends Schema {
  readonly properties: Properties;
}
type Properties = Readonly<Record<string, Schema>>;
type Options = Readonly<Record<string, unknown>>;

const mark = (schema: object, name: keyof Schema, value: unknown): Schema =>
  Object.defineProperty(schema, name, { value });
const typed = (kind: string) => (options?: Options) =>
  mark({ type: kind.toLowerCase(), ...options }, "~kind", kind);
const optional = (schema: Schema): Schema => {
  const { "~kind": kind } = schema;
  return mark(mark({ ...schema }, "~kind", kind), "~optional", true);
};
const object = (properties: Properties, options?: Options): Schema => {
  const names = Object.keys(properties).filter((name) => properties[name]?.["~optional"] !== true);
  const required = names.length === 0 ? {} : { required: names };
  return mark({ type: "object", ...required, properties, ...options }, "~kind", "Object");
};

const builders = {
  Array: (items: Schema, options?: Options) => mark({ type: "array", items, ...options }, "~kind", "Array"),
  Boolean: typed("Boolean"),
  Enum: (values: readonly unknown[], options?: Options) =>
    mark({ enum: values, ...options }, "~kind", "Enum"),
  Integer: typed("Integer"),
  Literal: (value: unknown, options?: Options) =>
    mark({ type: typeof value, const: value, ...options }, "~kind", "Literal"),
  Number: typed("Number"),
  Object: object,
  Optional: optional,
  /** Without the other keywords of the object, as in TypeBox. */
  Partial: ({ properties }: ObjectSchema, options?: Options) =>
    object(
      Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, optional(schema)])),
      options,
    ),
  Record: (_key: Schema, value: Schema, options?: Options) =>
    mark({ type: "object", patternProperties: { "^.*$": value }, ...options }, "~kind", "Record"),
  String: typed("String"),
  Union: (anyOf: readonly Schema[], options?: Options) => mark({ anyOf, ...options }, "~kind", "Union"),
  Unknown: (options?: Options) => mark({ ...options }, "~kind", "Unknown"),
  Unsafe: (schema: object) => mark({ ...schema }, "~kind", "Unsafe"),
};

export const Type: Builders = builders as unknown as Builders;
