/** The OpenAPI document by the rules of OpenAPI, and its content. */
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { afterEach, describe, expect, test } from "vitest";
import { cleanUp, serve } from "./service.test-kit.js";

afterEach(cleanUp);

interface Parameter {
  readonly $ref?: string;
}

interface Answer {
  readonly headers?: Readonly<Record<string, object>>;
  readonly content?: Readonly<Record<string, { readonly schema?: object }>>;
}

interface Operation {
  readonly operationId?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean };
  readonly responses: Readonly<Record<string, Answer>>;
  readonly security?: readonly object[];
}

interface Document {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly security: readonly object[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, object>>>>;
}

async function load(): Promise<{
  document: Document;
  operations: readonly (readonly [string, Operation])[];
}> {
  const { body } = await (await serve()).get("/openapi.json");
  const document = body as unknown as Document;
  const operations = Object.entries(document.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => [`${verb} ${path}`, operation] as const),
  );
  return { document, operations };
}

describe("the OpenAPI document", () => {
  test("the OpenAPI document is valid by OpenAPI 3.1 and by the recommended rules of a linter", async () => {
    const { document } = await load();
    expect(document.openapi).toBe("3.1.0");
    const problems = await lintFromString({
      source: JSON.stringify(document),
      absoluteRef: "openapi.json",
      config: await createConfig({ extends: ["recommended"] }),
    });
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual(
      [],
    );
  });

  test("the OpenAPI document names each operation once, the server and the security schemes", async () => {
    const { document, operations } = await load();
    const ids = operations.map(([, { operationId }]) => operationId);
    expect(new Set(ids).size).toBe(operations.length);
    expect(ids).not.toContain(undefined);
    expect(document.servers).toMatchObject([{ url: "/" }]);
    expect(document.security).toEqual([{ bearer: [] }, { mutualTLS: [] }, {}]);
    expect(document.components["securitySchemes"]).toMatchObject({ mutualTLS: { type: "mutualTLS" } });
  });

  test("the OpenAPI document lists refusals, authentication errors and retry headers for each operation", async () => {
    const { operations } = await load();
    for (const [name, { responses, security }] of operations) {
      expect([name, Object.keys(responses)]).toEqual([name, expect.arrayContaining(["4XX"])]);
      expect([name, responses["4XX"]?.headers]).toMatchObject([
        name,
        { "retry-after": {}, "x-request-id": {} },
      ]);
      if (security === undefined) {
        expect([name, Object.keys(responses)]).toEqual([name, expect.arrayContaining(["401", "403"])]);
      }
      const good = responses["200"] ?? responses["201"];
      expect([name, good?.headers]).toMatchObject([name, { "x-request-id": {} }]);
      for (const { schema } of Object.values(good?.content ?? {})) expect([name, schema]).not.toBeUndefined();
      expect([name, Object.keys(good?.content ?? {}).length > 0]).toEqual([name, true]);
    }
  });

  test("the OpenAPI document does not require a body where none is needed", async () => {
    const { operations } = await load();
    const optional = operations
      .filter(([, { requestBody }]) => requestBody?.required === false)
      .map(([, { operationId }]) => operationId);
    expect(optional).toEqual(["pause", "resume"]);
  });

  test("the OpenAPI document lists the request headers that are read", async () => {
    const { operations } = await load();
    const taking = (name: string) =>
      operations
        .filter(([, { parameters }]) =>
          parameters?.some(({ $ref }) => $ref === `#/components/parameters/${name}`),
        )
        .map(([, { operationId = "" }]) => operationId)
        .toSorted();
    expect(taking("Prefer")).toEqual(["campaign", "campaignMany", "renew", "renewMany"]);
    expect(taking("LastEventId")).toEqual(["watch", "watchAll"]);
    expect(taking("RequestId")).toHaveLength(operations.length);
  });

  test("the OpenAPI document describes the events of streams", async () => {
    const { document, operations } = await load();
    const streamed = operations.filter(
      ([, { responses }]) => responses["200"]?.content?.["text/event-stream"] !== undefined,
    );
    expect(streamed.map(([, { operationId }]) => operationId)).toEqual(["watch", "watchAll", "watchMany"]);
    const stream = (name: string) => ({ contentSchema: { $ref: `#/components/schemas/${name}` } });
    expect(document.components["schemas"]).toMatchObject({
      EventStream: stream("Event"),
      ManyEventStream: stream("ManyEvent"),
      Event: { properties: { type: { enum: ["LEADER_CHANGED", "LEADER_LOST", "RESYNC"] } } },
    });
  });

  test("the OpenAPI document uses no keyword that 3.1 has dropped", async () => {
    const { document } = await load();
    expect(JSON.stringify(document)).not.toContain('"nullable"');
  });
});
