import { Type as TypeBox } from "typebox";
import { Compile } from "typebox/compile";
import { expect, it } from "vitest";
import { Type } from "./type.js";

const SCHEMAS: Readonly<Record<string, (type: typeof Type) => object>> = {
  Array: (type) => type.Array(type.String(), { maxItems: 3 }),
  Boolean: (type) => type.Boolean({ description: "A flag." }),
  Enum: (type) => type.Enum(["a", "b"], { description: "One of two." }),
  Integer: (type) => type.Integer({ minimum: 1 }),
  Literal: (type) => type.Union([type.Literal(true), type.Literal("x"), type.Literal(1)]),
  Number: (type) => type.Number(),
  Object: (type) =>
    type.Object(
      { given: type.String(), maybe: type.Optional(type.Integer({ title: "Count" })) },
      { additionalProperties: false },
    ),
  "Object without properties": (type) => type.Object({}),
  Partial: (type) => type.Partial(type.Object({ a: type.String() }, { title: "A" }), { title: "B" }),
  Record: (type) => type.Record(type.String(), type.Unknown(), { description: "Anything." }),
  Unsafe: (type) => type.Object({ nullable: type.Unsafe<string | null>({ type: "string", nullable: true }) }),
};

it.each(Object.entries(SCHEMAS))("Type builds the same JSON schema as TypeBox: %s", (_name, build) => {
  expect(JSON.stringify(build(Type))).toBe(JSON.stringify(build(TypeBox as typeof Type)));
});

it("TypeBox keeps an optional property of a schema that Type has built optional", () => {
  const { properties } = Type.Object({ cursor: Type.Optional(Type.String()) });
  const schema = TypeBox.Object({ ...properties, group: Type.String() });
  expect(schema.required).toEqual(["group"]);
  expect(Compile(schema).Check({ group: "g" })).toBe(true);
  expect(Compile(schema).Check({ cursor: "1" })).toBe(false);
});
