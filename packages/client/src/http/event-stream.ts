import { type shapes, watchEvent } from "@tenure/api";
import type { WatchEvent } from "@tenure/core";
import type { Endpoint } from "./endpoints.js";
import { reconnecting } from "./reconnecting.js";
import { keepAliveMs, type Patience } from "./patience.js";
import { sseConnection } from "./sse-connection.js";
import type { TransportParts } from "./transport.js";

export interface EventStreamOptions {
  readonly parts: TransportParts;
  readonly random: () => number;
  readonly path: string;
  readonly cursor: number | string | undefined;
  readonly maySee?: ((groupId: string) => boolean) | undefined;
  /** Time limit until the first answer of one server. */
  readonly timeoutMs: number;
  readonly patience: Patience;
  readonly onContact: (error: unknown) => void;
  readonly signal: AbortSignal;
}

/** A watch with one cursor: Server-Sent Events that continue after every break, from the last cursor. */
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
 * The events of one connection. The states of many groups share a cursor that only the last of them carries, so they
 * are delivered together or not at all.
 */
async function* connection(
  { parts, path: given, timeoutMs, patience, onContact: contact, signal }: EventStreamOptions,
  endpoint: Endpoint,
  cursor: number | string | undefined,
): AsyncGenerator<readonly WatchEvent[], undefined> {
  const headers: Record<string, string> = cursor === undefined ? {} : { "last-event-id": String(cursor) };
  let replies: shapes.EventShape[] = [];
  const everyMs = keepAliveMs(patience);
  const path = everyMs === undefined ? given : `${given}?keep_alive_ms=${everyMs}`;
  const request = { parts, method: "GET", path, headers, timeoutMs, patience, contact, signal } as const;
  for await (const { id, data } of sseConnection(request, endpoint)) {
    replies.push(data as unknown as shapes.EventShape);
    if (id === null) continue;
    const shared = Number(id);
    yield replies.map((each) => watchEvent(each, shared));
    replies = [];
  }
}
