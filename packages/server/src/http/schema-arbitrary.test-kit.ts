/** Values that a JSON schema admits, for the part of JSON schema that this service uses. */
import fc from "fast-check";

export interface Schema {
  readonly type?: string;
  readonly nullable?: boolean;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
}

/** Few, so that requests meet one another. */
const IDS = ["a", "a", "b", "b", "g/1", "x".repeat(200), ".", "..", "a:b._/-"];
const USUAL = [0, 1, 2, 500, 1000, 5000, 60_000];

export function schemaArbitrary(schema: Schema): fc.Arbitrary<unknown> {
  const value = bare(schema);
  return schema.nullable === true ? fc.option(value, { freq: 5 }) : value;
}

function bare(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.const !== undefined) return fc.constant(schema.const);
  switch (schema.type) {
    case "integer": {
      const min = schema.minimum ?? Number.MIN_SAFE_INTEGER;
      const max = schema.maximum ?? Number.MAX_SAFE_INTEGER;
      const usual = USUAL.filter((each) => each >= min && each <= max);
      return fc.oneof({ arbitrary: fc.constantFrom(...usual), weight: 6 }, fc.integer({ min, max }));
    }
    case "number":
      return fc.oneof(
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
      );
    case "boolean":
      return fc.boolean();
    case "string":
      return schema.pattern === undefined
        ? fc.oneof(
            fc.constantFrom("0", "1", "7", "100").filter((each) => each.length >= (schema.minLength ?? 0)),
            fc.string({ unit: "grapheme", minLength: schema.minLength ?? 0, maxLength: 40 }),
          )
        : fc.oneof(
            { arbitrary: fc.constantFrom(...IDS), weight: 6 },
            fc.stringMatching(new RegExp(schema.pattern)),
          );
    case "array":
      return fc.array(schemaArbitrary(schema.items ?? {}), { maxLength: Math.min(schema.maxItems ?? 8, 8) });
    case "object":
      return objectArbitrary(schema);
    default:
      return fc.jsonValue();
  }
}

function objectArbitrary({ properties, required, patternProperties }: Schema): fc.Arbitrary<unknown> {
  if (properties === undefined) {
    return patternProperties === undefined
      ? fc.constant({})
      : fc.dictionary(fc.string({ maxLength: 10 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5 });
  }
  const model = Object.fromEntries(
    Object.entries(properties).map(([key, schema]) => [key, schemaArbitrary(schema)]),
  );
  return fc.record(model, { requiredKeys: [...(required ?? [])] });
}

/** The schema's value with something wrong in it, or nothing like it at all. */
export function spoiledArbitrary(schema: Schema): fc.Arbitrary<unknown> {
  const junk = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(null, "", "5000", [], {}, -1, 0.5, 1e300, Number.MAX_SAFE_INTEGER + 2, true),
    fc.string({ unit: "binary", maxLength: 300 }),
    fc.constantFrom(
      "\u0000",
      "\ud800",
      "\u202e",
      "é".repeat(300),
      "../..",
      "a\nb",
      "__proto__",
      "constructor",
    ),
  );
  const keys = [...Object.keys(schema.properties ?? {}), "__proto__", "constructor", "toString", "x"];
  return fc.oneof(
    junk,
    fc
      .tuple(schemaArbitrary(schema), fc.constantFrom(...keys), junk)
      .map(([value, key, wrong]) => spoil(value, key, wrong)),
  );
}

/** `defineProperty`, so that `__proto__` is a key like any other. */
function spoil(value: unknown, key: string, wrong: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return wrong;
  return Object.defineProperty({ ...value }, key, {
    value: wrong,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}
