/** The routes, made from the table of verbs. A new verb with one answer needs no change here. */
import {
  isUnary,
  responseOptionsOf,
  type UnaryVerb,
  type Verb,
  VERB_NAMES,
  type VerbName,
  VERBS,
} from "@tenure/api";
import {
  ErrorReply,
  GroupParams,
  NoQuery,
  orNull,
  type ShapedVerb,
  VERB_SCHEMAS,
  type VerbSchema,
} from "@tenure/api/schemas";
import type { FastifyReply, FastifyRequest, RouteOptions } from "fastify";
import type { Asked } from "../asked.js";
import type { ElectionService } from "../election-service.js";
import { parseCount } from "../wire/parse-text.js";
import type { App, AppDeps } from "./app.js";
import { callerGoneSignal } from "./request-signals.js";

/** Size limit of the body of a batch. */
const MANY_BYTES = 1024 * 1024;

export function verbRoutes(app: App, { service }: AppDeps): void {
  for (const name of VERB_NAMES) if (isUnary(name)) app.route(unaryRoute(name, service));
}

/** A route without its handler. `response` replaces the schema in the table. */
export function routeOf(name: VerbName, response?: object): Omit<RouteOptions, "handler"> {
  const { method, path, tag, summary, description, batch, head }: Verb = VERBS[name];
  const described = { tags: [tag], summary, ...(description === undefined ? {} : { description }) };
  return {
    method,
    url: path.replace("{group_id}", ":group_id"),
    ...(batch === undefined ? {} : { bodyLimit: MANY_BYTES }),
    ...(head === true ? { exposeHeadRoute: true } : {}),
    schema: { ...described, ...schemaOf(name, response) },
  };
}

function schemaOf(name: VerbName, response: object | undefined): object {
  if (!isShaped(name)) return {};
  const { method, path, access, tag, status }: Verb = VERBS[name];
  const { request, query, isOptional, reply }: VerbSchema = VERB_SCHEMAS[name];
  const hasBody = takesBody(method);
  return {
    ...(path.includes("{group_id}") ? { params: GroupParams } : {}),
    // What is misspelt or misplaced is refused, but for pages that anybody may ask for.
    ...(access === "open" ? {} : { querystring: hasBody ? NoQuery : (query ?? request) }),
    ...(hasBody ? { body: isOptional === true ? orNull(request) : request } : {}),
    response: {
      [status ?? 200]: reply,
      ...(tag === "operations" ? {} : { "4xx": ErrorReply, "5xx": ErrorReply }),
      ...response,
    },
  };
}

function unaryRoute(name: UnaryVerb, service: ElectionService): RouteOptions {
  const { method, endsWithCaller, prefer, status }: Verb = VERBS[name];
  const answer = service[name].bind(service) as (asked: Asked) => Promise<object>;
  const readQuery = queryReader(VERB_SCHEMAS[name]);
  const hasBody = takesBody(method);
  const handler = (request: FastifyRequest, reply: FastifyReply): Promise<object> => {
    if (status !== undefined) reply.code(status);
    return answer({
      caller: request.caller,
      groupId: (request.params as { group_id?: string }).group_id ?? "",
      input: hasBody ? (request.body ?? {}) : readQuery(request.query as Texts),
      charge: request.charge,
      signal: endsWithCaller === true ? callerGoneSignal(reply) : undefined,
      response: responseOptionsOf(prefer === true ? request.headers["prefer"] : undefined),
    });
  };
  return { ...routeOf(name), handler };
}

function isShaped(name: VerbName): name is ShapedVerb {
  return name in VERB_SCHEMAS;
}

function takesBody(method: Verb["method"]): boolean {
  return method === "POST" || method === "PATCH";
}

type Texts = Readonly<Record<string, string>>;

/** Converts the texts of a query string to numbers and booleans where the schema of the request has them. */
function queryReader({ request, query }: VerbSchema): (texts: Texts) => object {
  if (query === undefined) return (texts) => texts;
  const types = Object.entries(request.properties).map(
    ([name, schema]) => [name, (schema as { type?: string }).type] as const,
  );
  return (texts) => {
    const input: Record<string, unknown> = {};
    for (const [name, type] of types) {
      const text = texts[name];
      if (text === undefined) continue;
      input[name] = type === "integer" ? parseCount(text, name) : type === "boolean" ? text === "true" : text;
    }
    return input;
  };
}
