import { type shapes, watchEvent } from "@tenure/api";
import type { WatchEvent } from "@tenure/core";
import type { Endpoint } from "./endpoints.js";
import { reconnecting } from "./reconnecting.js";
import { keepAliveMs, sseConnection } from "./sse-connection.js";
import type { TransportParts } from "./transport.js";

export interface EventStreamOptions {
  readonly parts: TransportParts;
  readonly random: () => number;
  readonly path: string;
  readonly cursor: number | string | undefined;
  readonly maySee?: ((groupId: string) => boolean) | undefined;
  /** Until the first answer of one server. */
  readonly timeoutMs: number;
  readonly silenceMs: number;
  readonly onContact: (error: unknown) => void;
  readonly signal: AbortSignal;
}

/** A watch under one cursor: Server-Sent Events that go on, from the last cursor, after every break. */
export async function* eventStream(options: EventStreamOptions): AsyncGenerator<WatchEvent, undefined> {
  let cursor = options.cursor;
  const connect = (endpoint: Endpoint) => connection(options, endpoint, cursor);
  for await (const events of reconnecting({ ...options, connect, lost: options.onContact })) {
    cursor = events.at(-1)?.cursor ?? cursor;
    const { maySee } = options;
    yield* maySee === undefined ? events : events.filter(({ groupId }) => maySee(groupId));
  }
}

/**
 * What one connection brings. The states of many groups share a cursor that only the last of them carries: they are
 * told together, or not at all.
 */
async function* connection(
  { parts, path: given, timeoutMs, silenceMs, onContact, signal }: EventStreamOptions,
  endpoint: Endpoint,
  cursor: number | string | undefined,
): AsyncGenerator<readonly WatchEvent[], undefined> {
  const headers: Record<string, string> = cursor === undefined ? {} : { "last-event-id": String(cursor) };
  let replies: shapes.EventShape[] = [];
  const everyMs = keepAliveMs(silenceMs);
  const path = everyMs === undefined ? given : `${given}?keep_alive_ms=${everyMs}`;
  const opened = () => onContact(null);
  const request = { parts, method: "GET", path, headers, timeoutMs, silenceMs, opened, signal } as const;
  for await (const { id, data } of sseConnection(request, endpoint)) {
    replies.push(data as unknown as shapes.EventShape);
    if (id === null) continue;
    const shared = Number(id);
    yield replies.map((each) => watchEvent(each, shared));
    replies = [];
  }
}
