/**
 * Every route, with requests that its schema allows and that it does not: it answers soon, never with an internal
 * error, and every refusal has the common shape.
 */
import { type Verb, VERBS } from "@tenure/api";
import { GroupParams, orNull, type ShapedVerb, VERB_SCHEMAS, type VerbSchema } from "@tenure/api/schemas";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cleanUp, rawRequest, type Service, serve } from "./service.test-kit.js";

interface Route {
  readonly method: string;
  readonly path: string;
  readonly params?: object;
  readonly query?: object;
  readonly body?: object;
}

/** The probe of the store is left out, because it may be negative. */
const ROUTES: readonly Route[] = (Object.keys(VERB_SCHEMAS) as ShapedVerb[])
  .filter((name) => name !== "ping")
  .map((name) => {
    const { method, path, access }: Verb = VERBS[name];
    const { request, query, isOptional }: VerbSchema = VERB_SCHEMAS[name];
    const hasBody = method === "POST" || method === "PATCH";
    return {
      method,
      path: path.replace("{group_id}", ":group_id"),
      ...(path.includes("{group_id}") ? { params: GroupParams } : {}),
      ...(hasBody || access === "open" ? {} : { query: query ?? request }),
      ...(hasBody ? { body: isOptional === true ? orNull(request) : request } : {}),
    };
  });

/** The maximum wait of a request, so that a run does not take long. */
const MAX_WAIT_MS = 20;
const ANSWER_WITHIN_MS = 5000;
const VALID_RUNS = 60;
const SPOILED_RUNS = 120;

let service: Service;
let asked = 0;
beforeAll(async () => {
  service = await serve();
});
afterAll(async () => {
  await cleanUp();
  // 22 routes, valid and invalid requests.
  expect(asked).toBeGreaterThan(3500);
});

/** Nothing may wait long: neither a campaign, nor a transfer, nor a poll. */
function hasten(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const hastened: Record<string, unknown> = { ...value };
  // A transfer without a timeout has ten seconds.
  if ("to_node_id" in hastened && !("timeout_ms" in hastened)) hastened["timeout_ms"] = MAX_WAIT_MS;
  for (const key of ["wait_ms", "timeout_ms"]) {
    const given = hastened[key];
    if (typeof given === "number" && given > MAX_WAIT_MS && given <= 60_000) hastened[key] = MAX_WAIT_MS;
    if (typeof given === "string" && Number(given) > MAX_WAIT_MS) hastened[key] = String(MAX_WAIT_MS);
  }
  return hastened;
}

function queryText(path: string, query: unknown): string {
  const given = typeof query === "object" && query !== null ? Object.entries(query) : [];
  const entries = given.map(([key, value]): [string, string] => [key, toText(value)]);
  if (path.endsWith("/watch") && !entries.some(([key]) => key === "timeout_ms")) {
    entries.push(["timeout_ms", String(MAX_WAIT_MS)]);
  }
  return entries.length === 0 ? "" : `?${new URLSearchParams(entries).toString()}`;
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Half a surrogate pair has no encoding: it would be sent as other bytes. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

interface Sent {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly contentType?: string;
}

async function check({ method, path }: Route, { params, query, body, contentType }: Sent): Promise<void> {
  asked++;
  const id = (params as { group_id?: unknown } | null)?.group_id ?? "g";
  // The client would remove "." and ".." from the path.
  const encoded = encode(toText(id)).replace(/^\.{1,2}$/, "%20");
  const url = path.replace(":group_id", encoded) + queryText(path, hasten(query));
  const text = typeof body === "string" && contentType !== undefined ? body : JSON.stringify(hasten(body));
  const hasBody = method !== "GET" && body !== undefined;
  const { status, body: reply } = await service.ask(method, url, hasBody ? text : undefined, {
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    ...(contentType === undefined ? {} : { headers: { "content-type": contentType } }),
  });
  if (status >= 200 && status < 300) return;
  expect([method, url, text, status]).not.toContain(500);
  expect(status).toBeGreaterThanOrEqual(400);
  expect(status).toBeLessThan(500);
  expect(reply).toMatchObject({
    ok: false,
    error: expect.stringMatching(/^[A-Z_]+$/) as string,
    message: expect.stringMatching(/./) as string,
  });
}

describe.each(ROUTES)("fuzzing $method $path", (route) => {
  const none = fc.constant(undefined);
  const parts = (of: (schema: Schema) => fc.Arbitrary<unknown>) => ({
    params: route.params === undefined ? none : of(route.params),
    query: route.query === undefined ? none : of(route.query),
    body: route.body === undefined ? none : of(route.body),
  });

  test("every request that the schema allows is answered", () =>
    fc.assert(
      fc.asyncProperty(fc.record(parts(schemaArbitrary)), (sent) => check(route, sent)),
      { numRuns: VALID_RUNS },
    ));

  test("every request that the schema does not allow is refused with an error of the common shape", () => {
    const valid = parts(schemaArbitrary);
    const spoiled = parts(spoiledArbitrary);
    const sent = fc.oneof(
      fc.record(spoiled),
      fc.record({ ...valid, body: spoiled.body }),
      fc.record({ ...valid, query: spoiledArbitrary((route.query ?? {}) as Schema) }),
      fc.record({ ...valid, params: fc.record({ group_id: fc.string({ unit: "binary", maxLength: 700 }) }) }),
      fc.record({
        ...valid,
        body: fc.oneof(
          fc.string({ unit: "binary", maxLength: 200 }),
          fc.constantFrom(
            "{",
            "[[[",
            '{"a":1e999}',
            "[".repeat(30_000),
            '"',
            "nul",
            '{"__proto__":{}}',
            "\ufeff{}",
          ),
          fc.constantFrom(`{"metadata":${'{"a":'.repeat(5000)}1${"}".repeat(5000)}}`, " ".repeat(70_000)),
        ),
        contentType: fc.constantFrom(
          "application/json",
          "application/json; charset=x",
          "text/plain",
          "x/y",
          "multipart/form-data",
        ),
      }),
    );
    return fc.assert(
      fc.asyncProperty(sent, (each) => check(route, each)),
      { numRuns: SPOILED_RUNS },
    );
  });
});

test("malformed bytes are answered or cut off, and the service keeps running", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("GET", "POST", "DELETE", "OPTIONS", "TRACE", "get", "🙂", ""),
      fc.string({ unit: "binary-ascii", maxLength: 60 }),
      fc.constantFrom("HTTP/1.1", "HTTP/1.0", "HTTP/2.0", ""),
      fc.string({ unit: "binary-ascii", maxLength: 60 }),
      async (method, path, version, rest) => {
        asked++;
        const head = `${method} /v1/groups/${path} ${version}\r\nhost: x\r\nconnection: close\r\n`;
        const got = await rawRequest(service.url, `${head}${rest}\r\n\r\n`);
        expect(got).not.toContain("HTTP/1.1 500");
        if (got.startsWith("HTTP/1.1 4")) expect(got).toContain('"ok":false');
      },
    ),
    { numRuns: 200 },
  );
  expect((await service.get("/healthz")).status).toBe(200);
});

/* Values that a JSON schema admits, for the part of JSON schema that this service uses. */

interface Schema {
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

/** Few values, so that requests meet one another. */
const IDS = ["a", "a", "b", "b", "g/1", "x".repeat(200), ".", "..", "a:b._/-"];
const USUAL = [0, 1, 2, 500, 1000, 5000, 60_000];

function schemaArbitrary(schema: Schema): fc.Arbitrary<unknown> {
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

/** The schema's value with something wrong in it, or a completely different value. */
function spoiledArbitrary(schema: Schema): fc.Arbitrary<unknown> {
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
