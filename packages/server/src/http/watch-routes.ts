import type { FastifyReply, FastifyRequest } from "fastify";
import { longPoll, turn } from "./long-poll.js";
import { parseCount } from "../wire/parse-count.js";
import { SseStreams } from "./sse-streams.js";
import { batchCost } from "../limits/admission.js";
import { ServiceError } from "../service-error.js";
import * as shapes from "../wire/shapes.js";
import { KEEP_ALIVE_MS, WatchManyBody, WatchQuery } from "../wire/watch-shapes.js";
import { parseCursor } from "../wire/watch-cursor.js";
import type { App, AppParts } from "./app.js";
import { endOf } from "./hang-up.js";

const DEFAULT_POLL_MS = 30_000;
const LONGEST_POLL_MS = 60_000;
const MANY_BYTES = 1024 * 1024;

/** Both ways to answer, for the document. */
const watched = {
  description: "Events",
  content: {
    "application/json": { schema: shapes.EventsReply },
    "text/event-stream": { schema: { type: "string" } },
  },
} as const;

const streamed = {
  description: "Events",
  content: { "text/event-stream": { schema: { type: "string" } } },
} as const;

export function watchRoutes(app: App, { service, clock, stopping }: AppParts): void {
  const streams = new SseStreams(clock, stopping);
  app.addHook("onClose", () => streams.close());

  const watch = async (
    request: FastifyRequest<{
      Querystring: { cursor?: string; timeout_ms?: string; keep_alive_ms?: string };
    }>,
    reply: FastifyReply,
    groupId: string | null,
  ) => {
    const isStream = wantsStream(request);
    const given = cursorOf(request, isStream);
    const from = parseCursor(given, groupId === null ? "all groups" : "one group");
    const givenMs = timeoutOf(request.query.timeout_ms);
    const keepAliveMs = keepAliveOf(request.query.keep_alive_ms);
    const { charge } = request;
    const items = service.watch(request.caller, groupId, from, { charge });
    reply.raw.once("close", () => void items.return());
    // Without a cursor a group's first event is its state, and comes whatever that is.
    const isSure = from === undefined && groupId !== null;
    if (!isStream) {
      const signal = endOf(reply, stopping);
      return longPoll(items, { from: given, timeoutMs: isSure ? null : givenMs, clock, signal });
    }
    const first = items.next();
    const opened = isSure ? first : from === undefined ? service.checkReachable() : turn();
    // A refusal is still an ordinary answer.
    await Promise.race([first, opened]);
    streams.send(request, reply, items, first, keepAliveMs);
    return reply;
  };

  const response = { 200: watched, "4xx": shapes.ErrorReply, "5xx": shapes.ErrorReply };
  const tags = ["elections"];
  const description =
    "With Accept: text/event-stream a stream of Server-Sent Events, whose id is the cursor; else a long poll.";
  app.get(
    "/v1/groups/:group_id/watch",
    {
      schema: {
        tags,
        summary: "Changes of one group, as they happen",
        description,
        params: shapes.GroupParams,
        querystring: WatchQuery,
        response,
      },
    },
    (request, reply) => watch(request as never, reply as never, request.params.group_id),
  );
  app.get(
    "/v1/watch",
    {
      schema: {
        tags,
        summary: "Changes of all groups, as they happen",
        description,
        querystring: WatchQuery,
        response,
      },
    },
    (request, reply) => watch(request as never, reply as never, null),
  );
  app.post(
    "/v1/watch",
    {
      bodyLimit: MANY_BYTES,
      schema: {
        tags,
        summary: "Changes of several groups, as they happen, in one stream",
        description:
          "Server-Sent Events without ids: each event carries its number, the cursor by which its group is resumed. " +
          "A group that may not be watched is told so by an event in the shape of an error with its group_id.",
        querystring: shapes.NoQuery,
        body: WatchManyBody,
        response: { ...response, 200: streamed },
      },
    },
    async (request, reply) => {
      if (!wantsStream(request)) {
        const field = "accept";
        throw new ServiceError("INVALID_REQUEST", `${field} must be text/event-stream`, { field });
      }
      request.charge(batchCost(request.body.watches.length));
      const items = service.watchMany(request.caller, request.body);
      reply.raw.once("close", () => void items.return());
      const isSure = request.body.watches.some(({ cursor }) => cursor === undefined);
      const first = items.next();
      await Promise.race([first, isSure ? first : turn()]);
      streams.send(request, reply, items, first, request.body.keep_alive_ms);
      return reply;
    },
  );
}

function wantsStream({ headers }: Pick<FastifyRequest, "headers">): boolean {
  return headers.accept?.includes("text/event-stream") === true;
}

function timeoutOf(text: string | undefined): number {
  const timeoutMs = text === undefined ? DEFAULT_POLL_MS : parseCount(text, "timeout_ms");
  if (timeoutMs <= LONGEST_POLL_MS) return timeoutMs;
  const field = "timeout_ms";
  throw new ServiceError("INVALID_REQUEST", `${field} must be at most ${LONGEST_POLL_MS}`, { field });
}

function keepAliveOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const field = "keep_alive_ms";
  const keepAliveMs = parseCount(text, field);
  const { min, max } = KEEP_ALIVE_MS;
  if (keepAliveMs >= min && keepAliveMs <= max) return keepAliveMs;
  throw new ServiceError("INVALID_REQUEST", `${field} must be from ${min} to ${max}`, { field });
}

/** A reconnecting stream sends the id it has seen last; that counts more than what its URL once said. */
function cursorOf(
  request: FastifyRequest<{ Querystring: { cursor?: string } }>,
  isStream: boolean,
): string | undefined {
  const last = isStream ? request.headers["last-event-id"] : undefined;
  const text = typeof last === "string" && last !== "" ? last : request.query.cursor;
  return text === "" ? undefined : text;
}
