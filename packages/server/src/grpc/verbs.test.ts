/** gRPC has every verb of HTTP, with every field. The two lists are compared; a verb of one that the other lacks fails here. */
import { type Verb, VERBS } from "@tenure/api";
import { loadSync, type MessageTypeDefinition } from "@grpc/proto-loader";
import { afterEach, expect, it } from "vitest";
import { cleanUp, serve } from "../http/service.test-kit.js";
import { HEALTH_PROTO_PATH, PROTO_PATH } from "./proto-services.js";

afterEach(cleanUp);

const PROBES: ReadonlySet<string> = new Set([VERBS.alive.path, VERBS.ping.path]);

/** The rpc of each route. `null`: the route is about HTTP itself. */
const RPCS: Readonly<Record<string, string | null>> = Object.fromEntries(
  Object.values<Verb>(VERBS).map(({ method, path, rpc }) => [
    `${method} ${path}`,
    PROBES.has(path) ? "grpc.health.v1.Health/Check" : rpc === null ? null : `tenure.v1.${rpc}`,
  ]),
);

/** Fields that one of the two transports does not need. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  // For the end of a long poll. Over HTTP/2 a client sends its own pings.
  "tenure.v1.Election/Watch": ["timeout_ms", "events", "keep_alive_ms"],
  "tenure.v1.Election/WatchAll": ["timeout_ms", "events", "keep_alive_ms"],
  "tenure.v1.Election/WatchMany": ["keep_alive_ms"],
  // A status, and not a field.
  "grpc.health.v1.Health/Check": ["ok"],
};

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

interface Message {
  readonly field: readonly { readonly name: string; readonly type: string; readonly typeName: string }[];
}

const loaded = loadSync([PROTO_PATH, HEALTH_PROTO_PATH], { keepCase: true });
const methods: ReadonlyMap<string, { requestType: object; responseType: object }> = new Map(
  Object.entries(loaded)
    .filter(([, definition]) => !("format" in definition))
    .flatMap(([service, definition]) =>
      Object.entries(definition as Record<string, { requestType: object; responseType: object }>).map(
        ([name, method]) => [`${service}/${name}`, method] as const,
      ),
    ),
);

function messageOf(definition: object): Message {
  return (definition as MessageTypeDefinition<object, object>).type as Message;
}

/** Paths of properties in the schema that the message has no field for. */
function missing(schema: Schema | undefined, message: Message, leftOut: readonly string[]): string[] {
  return Object.entries(schema?.properties ?? {}).flatMap(([name, inner]) => {
    const field = message.field.find((each) => each.name === name);
    if (field === undefined) return leftOut.includes(name) ? [] : [name];
    const below = loaded[`tenure.v1.${field.typeName}`];
    // Values that protobuf cannot express as JSON does have their own form: metadata is a text, allowed_nodes a
    // message.
    if (field.type !== "TYPE_MESSAGE" || below === undefined || name === "allowed_nodes") return [];
    return missing(inner.items ?? inner, messageOf(below), leftOut).map((each) => `${name}.${each}`);
  });
}

async function operations(): Promise<ReadonlyMap<string, Operation>> {
  const { body } = await (await serve()).get("/openapi.json");
  const paths = body["paths"] as Record<string, Record<string, Operation>>;
  return new Map(
    Object.entries(paths).flatMap(([path, verbs]) =>
      Object.entries(verbs)
        .filter(([verb]) => verb !== "head")
        .map(([verb, operation]) => [`${verb.toUpperCase()} ${path}`, operation] as const),
    ),
  );
}

it("gRPC has a method for every HTTP route, and HTTP a route for every method", async () => {
  const routes = [...(await operations()).keys()];
  expect(Object.keys(RPCS).toSorted()).toEqual(routes.toSorted());
  const wanted = new Set(Object.values(RPCS).filter((method) => method !== null));
  expect([...wanted].filter((method) => !methods.has(method))).toEqual([]);
  const own = [...methods.keys()].filter((method) => method !== "grpc.health.v1.Health/Watch");
  expect(own.filter((method) => !wanted.has(method))).toEqual([]);
});

it("gRPC has a field for everything that HTTP accepts and answers", async () => {
  const found: string[] = [];
  for (const [route, operation] of await operations()) {
    const name = RPCS[route];
    const method = name === null || name === undefined ? undefined : methods.get(name);
    if (name === null || name === undefined || method === undefined) continue;
    const leftOut = ELSEWHERE[name] ?? [];
    const asked = {
      properties: Object.fromEntries([
        ...(operation.parameters ?? [])
          .filter((each) => each.in === "path" || each.in === "query")
          .map((each) => [each.name, {}] as const),
        ...Object.entries(operation.requestBody?.content?.["application/json"]?.schema.properties ?? {}),
      ]),
    };
    const answered = (operation.responses["200"] ?? operation.responses["201"])?.content?.[
      "application/json"
    ];
    found.push(
      ...missing(asked, messageOf(method.requestType), leftOut).map((each) => `${name} request: ${each}`),
      ...missing(answered?.schema, messageOf(method.responseType), leftOut).map(
        (each) => `${name} response: ${each}`,
      ),
    );
  }
  expect(found).toEqual([]);
});
