import type { FastifyReply, FastifyRequest } from "fastify";
import { longPoll } from "./long-poll.js";
import { parseCount } from "./group-routes.js";
import { SseStreams } from "./sse-streams.js";
import { ServiceError } from "../service-error.js";
import * as shapes from "../wire/shapes.js";
import type { App, AppParts } from "./app.js";
import { hangUpOf } from "./hang-up.js";

const DEFAULT_POLL_MS = 30_000;
const LONGEST_POLL_MS = 60_000;

export function watchRoutes(app: App, { service, clock, stopping }: AppParts): void {
  const streams = new SseStreams(clock, stopping);
  app.addHook("onClose", () => streams.close());

  const watch = async (
    request: FastifyRequest<{ Querystring: { cursor?: string; timeout_ms?: string } }>,
    reply: FastifyReply,
    groupId: string | null,
  ) => {
    const isStream = request.headers.accept?.includes("text/event-stream") === true;
    const cursor = cursorOf(request, isStream);
    const signal = AbortSignal.any([hangUpOf(reply), stopping]);
    const items = service.watch(request.caller, groupId, cursor, signal);
    if (isStream) return streams.send(request, reply, items);
    const timeoutMs = parseCount(request.query.timeout_ms ?? String(DEFAULT_POLL_MS), "timeout_ms");
    if (timeoutMs > LONGEST_POLL_MS) {
      throw new ServiceError("INVALID_REQUEST", `timeout_ms must be at most ${LONGEST_POLL_MS}`, {
        field: "timeout_ms",
      });
    }
    return longPoll(items, cursor, timeoutMs, clock, signal);
  };

  const response = { 200: shapes.EventsReply, "4xx": shapes.ErrorReply, "5xx": shapes.ErrorReply };
  const tags = ["elections"];
  app.get(
    "/v1/groups/:group_id/watch",
    {
      schema: {
        tags,
        summary: "Changes of one group, as they happen",
        params: shapes.GroupParams,
        querystring: shapes.WatchQuery,
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
        querystring: shapes.WatchQuery,
        response,
      },
    },
    (request, reply) => watch(request as never, reply as never, null),
  );
}

/** A reconnecting stream sends the id it has seen last; that counts more than what its URL once said. */
function cursorOf(
  request: FastifyRequest<{ Querystring: { cursor?: string } }>,
  isStream: boolean,
): number | undefined {
  const last = isStream ? request.headers["last-event-id"] : undefined;
  const text = typeof last === "string" && last !== "" ? last : request.query.cursor;
  return text === undefined || text === "" ? undefined : parseCount(text, "cursor");
}
