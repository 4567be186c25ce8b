/**
 * Server-Sent Events. A stream pulls its next event only when the last but one has left, so a slow reader costs no memory:
 * it falls behind, and past the events that are kept it gets one RESYNC. One that takes nothing for too long is cut off.
 */
import type { ServerResponse } from "node:http";
import { type CancelTimer, type Clock, onAbort } from "@tenure/core";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { StreamItem } from "../watch.js";
import { ANSWER_HEADERS } from "./answer-headers.js";

/** Proxies close what is silent for longer. */
const KEEP_ALIVE_MS = 15_000;
/** How soon a client should come back after the end. */
const RETRY_MS = 1000;
/** Keep-alives that did not leave, one after the other, before a reader counts as gone. */
const MOST_STUCK = 4;
/** Keep-alives sent in one turn of the event loop, two milliseconds' worth with TLS: renewals must not wait for all. */
const SLICE_STREAMS = 100;

/** Items that are ready at the same time may come together: they leave in one write. */
type Sent = StreamItem | readonly StreamItem[];
type Items = AsyncIterableIterator<Sent, undefined>;

interface Stream {
  readonly raw: ServerResponse;
  readonly items: Items;
  stuck: number;
}

export class SseStreams {
  readonly #clock: Clock;
  readonly #stopping: AbortSignal;
  readonly #open = new Set<Stream>();
  #cancelTimer: CancelTimer | null = null;
  #isClosed = false;

  constructor(clock: Clock, stopping: AbortSignal) {
    this.#clock = clock;
    this.#stopping = stopping;
    onAbort(stopping, () => {
      for (const { items } of this.#open) void items.return?.();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelTimer?.();
  }

  /** From here on the answer is the stream's. `first` has been pulled from `items` already. */
  send(
    request: FastifyRequest,
    reply: FastifyReply,
    items: Items,
    first: Promise<IteratorResult<Sent, undefined>>,
  ): void {
    reply.hijack();
    const { raw } = reply;
    raw.writeHead(200, {
      ...ANSWER_HEADERS,
      "content-type": "text/event-stream",
      "x-accel-buffering": "no",
      "x-request-id": request.id,
    });
    raw.flushHeaders();
    const stream: Stream = { raw, items, stuck: 0 };
    this.#open.add(stream);
    this.#cancelTimer ??= this.#clock.after(KEEP_ALIVE_MS, () => this.#keepAlive());
    if (this.#stopping.aborted) void items.return?.();
    void this.#run(stream, first);
  }

  async #run(stream: Stream, first: Promise<IteratorResult<Sent, undefined>>): Promise<void> {
    const { raw, items } = stream;
    try {
      await copy(stream, first);
    } catch {
      // The watch has ended, or the reader has: it comes back with its cursor.
    }
    this.#open.delete(stream);
    void items.return?.();
    if (!raw.destroyed) raw.end(this.#stopping.aborted ? `retry: ${RETRY_MS}\n\n` : "");
  }

  #keepAlive(): void {
    this.#sendKeepAlives([...this.#open], 0);
  }

  #sendKeepAlives(streams: readonly Stream[], from: number): void {
    if (this.#isClosed) return;
    const until = Math.min(from + SLICE_STREAMS, streams.length);
    for (const stream of streams.slice(from, until)) sendKeepAlive(stream);
    if (until < streams.length) return this.#clock.soon(() => this.#sendKeepAlives(streams, until));
    this.#cancelTimer =
      this.#open.size === 0 ? null : this.#clock.after(KEEP_ALIVE_MS, () => this.#keepAlive());
  }
}

function sendKeepAlive(stream: Stream): void {
  const { raw } = stream;
  if (raw.destroyed || raw.writableEnded) return;
  if (!raw.writableNeedDrain) raw.write(":\n\n");
  else if (++stream.stuck >= MOST_STUCK) raw.destroy();
}

async function copy(stream: Stream, first: Promise<IteratorResult<Sent, undefined>>): Promise<void> {
  const { raw, items } = stream;
  for (let result = await first; result.done !== true; result = await items.next()) {
    const { value } = result;
    await write(raw, isList(value) ? value.map(frame).join("") : frame(value));
    stream.stuck = 0;
  }
}

function isList(sent: Sent): sent is readonly StreamItem[] {
  return Array.isArray(sent);
}

function frame({ event, cursor, partial }: StreamItem): string {
  // The states of many groups share a cursor. Only the last carries it: cut off before, a reader begins again.
  const id = cursor === null || partial === true ? "" : `id: ${cursor}\n`;
  return `${id}data: ${JSON.stringify(event)}\n\n`;
}

/** Resolves when there is room for more; rejects when the reader is gone. */
function write(raw: ServerResponse, text: string): Promise<void> | void {
  if (raw.destroyed) throw new Error("the reader has gone");
  if (raw.write(text)) return;
  return new Promise((resolve, reject) => {
    const done = () => {
      raw.off("drain", done);
      raw.off("close", gone);
      resolve();
    };
    const gone = () => {
      raw.off("drain", done);
      reject(new Error("the reader has gone"));
    };
    raw.once("drain", done);
    raw.once("close", gone);
  });
}
