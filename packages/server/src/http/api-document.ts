/**
 * The OpenAPI document. Its paths, parameters, bodies and answers come from the routes, and so from the table of verbs; here is what
 * routes cannot say: names of operations, headers, the events of streams, and how callers are identified.
 */
import type { FastifyDynamicSwaggerOptions } from "@fastify/swagger";
import { type Verb, VERB_NAMES, type VerbName, VERBS } from "@tenure/api";
import { ErrorReply, EventShape, NumberedEvent, type ShapedVerb, VERB_SCHEMAS } from "@tenure/api/schemas";

/** Version 3.1, because it can describe client certificates. */
export const API_DOCUMENT: NonNullable<FastifyDynamicSwaggerOptions["openapi"]> = {
  openapi: "3.1.0",
  info: {
    title: "Tenure",
    version: "1",
    description: "Leader election with leases and terms that only rise.",
    license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
  },
  servers: [{ url: "/", description: "The server that serves this document." }],
  tags: [
    { name: "elections", description: "Take part in elections, and read and watch leaders." },
    { name: "groups", description: "Manage and operate groups." },
    { name: "operations", description: "Health, metrics and documentation of the service." },
  ],
  components: {
    securitySchemes: {
      bearer: { type: "http", scheme: "bearer", description: "The admin token, or a JWT." },
      mutualTLS: {
        type: "mutualTLS",
        description: "A client certificate with the URI spiffe://TRUST-DOMAIN/sdk/NODE or …/admin/NAME",
      } as never,
    },
  },
  // Any of these, and without authentication none.
  security: [{ bearer: [] }, { mutualTLS: [] }, {}],
};

/** By method and path, as the document has them. */
const VERB_OF: ReadonlyMap<string, VerbName> = new Map(
  VERB_NAMES.map((name) => [`${VERBS[name].method.toLowerCase()} ${VERBS[name].path}`, name]),
);

const CONTENT_SCHEMAS: Readonly<Record<string, object>> = {
  "text/plain": { type: "string", description: "Prometheus text format" },
  "text/html": { type: "string" },
  "application/json": { type: "object" },
};

interface Answer {
  description?: string;
  headers?: Record<string, object>;
  content?: Record<string, object>;
}

interface Operation {
  operationId?: string;
  parameters?: object[];
  requestBody?: { required?: boolean };
  responses: Record<string, Answer>;
  security?: object[];
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, object>>;
}

/** Adds what the schemas of routes cannot express. */
export function completeDocument(openapiObject: object): object {
  const document = forOpenApi(openapiObject) as Document;
  document.components = { ...document.components, ...COMPONENTS };
  for (const [path, verbs] of Object.entries(document.paths)) {
    // Fastify adds a HEAD to some; it says nothing that the GET does not.
    delete verbs["head"];
    for (const [verb, operation] of Object.entries(verbs)) complete(operation, verb, path);
  }
  return document;
}

function complete(operation: Operation, method: string, path: string): void {
  const name = VERB_OF.get(`${method} ${path}`);
  // A route of an extension, which knows best itself.
  if (name === undefined) return;
  const { access, answers, batch, content, operationId = name, prefer }: Verb = VERBS[name];
  const isOptional = name in VERB_SCHEMAS && "isOptional" in VERB_SCHEMAS[name as ShapedVerb];
  operation.operationId = operationId;
  if (access === "open") operation.security = [];
  if (operation.requestBody !== undefined) operation.requestBody.required = !isOptional;
  operation.parameters = [
    ...(operation.parameters ?? []),
    parameter("RequestId"),
    ...(prefer === true ? [parameter("Prefer")] : []),
    ...(answers === "stream" && batch === undefined ? [parameter("LastEventId")] : []),
  ];
  const { responses } = operation;
  if (content !== undefined) {
    const schema = CONTENT_SCHEMAS[content];
    responses["200"] = { description: "OK", ...responses["200"], content: { [content]: { schema } } };
  }
  if (access !== "open") {
    responses["401"] ??= { ...refusal("UNAUTHENTICATED") };
    responses["403"] ??= { ...refusal("UNAUTHORIZED or FOREIGN_REQUEST") };
  }
  responses["4XX"] ??= refusal("Refused");
  for (const [status, answer] of Object.entries(responses)) completeAnswer(answer, status, name);
}

function completeAnswer(answer: Answer, status: string, name: VerbName): void {
  const { content } = answer;
  answer.headers = {
    ...answer.headers,
    "x-request-id": { $ref: "#/components/headers/RequestId" },
    // 429 and 503 have it.
    ...(/^[45]XX$|^503$/.test(status) ? { "retry-after": { $ref: "#/components/headers/RetryAfter" } } : {}),
    ...(status === "401" ? { "www-authenticate": { $ref: "#/components/headers/WwwAuthenticate" } } : {}),
  };
  if (content?.["text/event-stream"] === undefined) return;
  const event = name === "watchMany" ? "ManyEvent" : "Event";
  content["text/event-stream"] = { schema: { $ref: `#/components/schemas/${event}Stream` } };
}

function parameter(name: string): object {
  return { $ref: `#/components/parameters/${name}` };
}

function refusal(description: string): Answer {
  return {
    description,
    content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
  };
}

/** The text of a stream: blocks of `id:` and `data:` lines, each `data:` a JSON text of this schema. */
function streamOf(schema: string, description: string): object {
  return {
    type: "string",
    description,
    contentMediaType: "application/json",
    contentSchema: { $ref: `#/components/schemas/${schema}` },
  };
}

const requestId = {
  description: "Id of the request in the log: the id that the caller sent, or a new one.",
  schema: { type: "string" },
};

const COMPONENTS: Document["components"] = {
  schemas: {
    Error: forOpenApi(ErrorReply),
    Event: forOpenApi(EventShape),
    ManyEvent: {
      oneOf: [
        forOpenApi(NumberedEvent),
        {
          type: "object",
          description: "A group that the caller may not watch. The stream of the other groups continues.",
          allOf: [
            { $ref: "#/components/schemas/Error" },
            { type: "object", properties: { group_id: { type: "string" } }, required: ["group_id"] },
          ],
        },
      ],
    },
    EventStream: streamOf(
      "Event",
      "Server-Sent Events: the JSON of an event as data, its cursor as id. The server sends a comment at least every `keep_alive_ms` (default 15 s).",
    ),
    ManyEventStream: streamOf(
      "ManyEvent",
      "Server-Sent Events without ids. The number of an event is the cursor of its group.",
    ),
  },
  headers: {
    RequestId: requestId,
    RetryAfter: { description: "Seconds to wait before the next request.", schema: { type: "integer" } },
    WwwAuthenticate: { description: "Bearer", schema: { type: "string" } },
  },
  parameters: {
    RequestId: {
      name: "x-request-id",
      in: "header",
      description:
        "Id of the request for the log: 1 to 100 characters of A-Z a-z 0-9 . _ : -. An invalid id is replaced.",
      schema: { type: "string" },
    },
    Prefer: {
      name: "prefer",
      in: "header",
      description: "leader-metadata: the response includes the metadata of the leader.",
      schema: { type: "string", enum: ["leader-metadata"] },
    },
    LastEventId: {
      name: "last-event-id",
      in: "header",
      description: "Id of the last event received on a stream. Overrides cursor.",
      schema: { type: "string" },
    },
  },
};

/** A copy in which `nullable`, which 3.1 does not have, is the type `null`, and without the names of messages in gRPC. */
function forOpenApi(value: object): object {
  if (Array.isArray(value)) return value.map((each: unknown) => (isObject(each) ? forOpenApi(each) : each));
  const entries = Object.entries(value).map(
    ([key, inner]) => [key, isObject(inner) ? forOpenApi(inner) : inner] as const,
  );
  const copy: Record<string, unknown> = Object.fromEntries(entries);
  // Of a schema; the document has one, too.
  if (typeof copy["title"] === "string" && "type" in copy) delete copy["title"];
  if (copy["nullable"] !== true) return copy;
  delete copy["nullable"];
  if (typeof copy["type"] === "string") copy["type"] = [copy["type"], "null"];
  if (Array.isArray(copy["enum"])) copy["enum"] = [...(copy["enum"] as unknown[]), null];
  return copy;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
