import { EventsReply, KEEP_ALIVE_MS, type WatchManyBody } from "@tenure/api/schemas";
import type { FastifyReply, FastifyRequest } from "fastify";
import { longPoll, turn } from "./long-poll.js";
import { parseCount } from "../wire/parse-text.js";
import { SseStreams } from "./sse-streams.js";
import { batchCost } from "../limits/admission.js";
import { invalid } from "../service-error.js";
import { parseCursor } from "../wire/watch-cursor.js";
import type { App, AppDeps } from "./app.js";
import { responseEndSignal } from "./request-signals.js";
import { routeOf } from "./verb-routes.js";

const DEFAULT_POLL_MS = 30_000;
const MAX_POLL_MS = 60_000;

/** The schemas of both kinds of answer, for the OpenAPI document. */
const watched = {
  description: "Events",
  content: {
    "application/json": { schema: EventsReply },
    "text/event-stream": { schema: { type: "string" } },
  },
} as const;

const streamed = {
  description: "Events",
  content: { "text/event-stream": { schema: { type: "string" } } },
} as const;

export function watchRoutes(app: App, { service, clock, stopping }: AppDeps): void {
  const streams = new SseStreams(clock, stopping);
  app.addHook("onClose", () => streams.close());

  const watch = async (request: WatchRequest, reply: FastifyReply, groupId: string | null) => {
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
      const signal = responseEndSignal(reply, stopping);
      return longPoll(items, { from: given, timeoutMs: isSure ? null : givenMs, clock, signal });
    }
    const first = items.next();
    const opened = isSure ? first : from === undefined ? service.checkReachable() : turn();
    // A refusal is still an ordinary answer.
    await Promise.race([first, opened]);
    streams.send(request, reply, items, first, keepAliveMs);
    return reply;
  };

  app.route({
    ...routeOf("watch", { 200: watched }),
    handler: (request: FastifyRequest, reply: FastifyReply) =>
      watch(request as WatchRequest, reply, (request.params as { group_id: string }).group_id),
  });
  app.route({
    ...routeOf("watchAll", { 200: watched }),
    handler: (request: FastifyRequest, reply: FastifyReply) => watch(request as WatchRequest, reply, null),
  });
  app.route({
    ...routeOf("watchMany", { 200: streamed }),
    handler: async (request: FastifyRequest, reply: FastifyReply) => {
      const body = request.body as WatchManyBody;
      if (!wantsStream(request)) throw invalid("accept", "must be text/event-stream");
      request.charge(batchCost(body.watches.length));
      const items = service.watchMany(request.caller, body);
      reply.raw.once("close", () => void items.return());
      const isSure = body.watches.some(({ cursor }) => cursor === undefined);
      const first = items.next();
      await Promise.race([first, isSure ? first : turn()]);
      streams.send(request, reply, items, first, body.keep_alive_ms);
      return reply;
    },
  });
}

type WatchRequest = FastifyRequest<{
  Querystring: { cursor?: string; timeout_ms?: string; keep_alive_ms?: string };
}>;

function wantsStream({ headers }: Pick<FastifyRequest, "headers">): boolean {
  return headers.accept?.includes("text/event-stream") === true;
}

function timeoutOf(text: string | undefined): number {
  const timeoutMs = text === undefined ? DEFAULT_POLL_MS : parseCount(text, "timeout_ms");
  if (timeoutMs <= MAX_POLL_MS) return timeoutMs;
  throw invalid("timeout_ms", `must be at most ${MAX_POLL_MS}`);
}

function keepAliveOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const field = "keep_alive_ms";
  const keepAliveMs = parseCount(text, field);
  const { min, max } = KEEP_ALIVE_MS;
  if (keepAliveMs >= min && keepAliveMs <= max) return keepAliveMs;
  throw invalid(field, `must be from ${min} to ${max}`);
}

/** A reconnecting stream sends the last id that it has seen, which is newer than the cursor in its URL. */
function cursorOf(
  request: FastifyRequest<{ Querystring: { cursor?: string } }>,
  isStream: boolean,
): string | undefined {
  const last = isStream ? request.headers["last-event-id"] : undefined;
  const text = typeof last === "string" && last !== "" ? last : request.query.cursor;
  return text === "" ? undefined : text;
}
