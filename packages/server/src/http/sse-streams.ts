/**
 * Server-Sent Events. The frames of one turn of the event loop leave together: with TLS each write costs a record, and a snapshot of
 * 1,000 groups is 1,000 frames. A stream pulls no more events while its reader takes nothing, so a slow reader costs little memory: it
 * falls behind, and past the events that are kept it gets one RESYNC. A reader that takes nothing for too long is cut off.
 */
import type { ServerResponse } from "node:http";
import { KEEP_ALIVE_MS } from "@tenure/api/schemas";
import type { CancelTimer, Clock } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { StreamItem } from "../watch.js";
import { ANSWER_HEADERS } from "./answer-headers.js";

/**
 * Keep-alive intervals of streams. A stream that asks for an interval in between gets the next shorter one, because all streams of
 * an interval share one timer. A keep-alive costs about 25 µs: 10,000 streams at one second take a quarter of a processor core.
 */
const PERIODS_MS = [KEEP_ALIVE_MS.min, 1000, 2000, 4000, 8000, KEEP_ALIVE_MS.max] as const;
/** How soon a client should reconnect after the end. */
const RETRY_MS = 1000;
/** A reader that takes nothing for this long counts as gone. */
const MAX_STUCK_MS = 60_000;
/** Keep-alives sent in one turn of the event loop, two milliseconds' worth with TLS: renewals must not wait for all. */
const SLICE_STREAMS = 100;
/** Characters of one stream that wait for the end of the turn; the frame that reaches this is written at once with those before it. */
const MAX_GATHERED = 16_384;

/** Items that are ready at the same time may come in one array: they are sent in one write. */
type Sent = StreamItem | readonly StreamItem[];
type Items = AsyncIterableIterator<Sent, undefined>;

interface Stream {
  readonly raw: ServerResponse;
  readonly items: Items;
  /** Frames of this turn, not written yet. */
  gathered: string;
  /** For how long nothing has left. */
  stuckMs: number;
}

export class SseStreams {
  readonly #clock: Clock;
  readonly #stopping: AbortSignal;
  readonly #rounds: readonly KeepAlives[];
  /** Streams that have gathered frames in this turn. */
  #gathering: Stream[] = [];

  constructor(clock: Clock, stopping: AbortSignal) {
    this.#clock = clock;
    this.#stopping = stopping;
    this.#rounds = PERIODS_MS.map((periodMs) => new KeepAlives(clock, periodMs));
    onAbort(stopping, () => {
      for (const { streams } of this.#rounds) for (const { items } of streams) void items.return?.();
    });
  }

  close(): void {
    for (const round of this.#rounds) round.close();
  }

  /**
   * From here on the answer is the stream's. `first` has been pulled from `items` already. It says something every
   * `keepAliveMs`, or somewhat more often.
   */
  send(
    request: FastifyRequest,
    reply: FastifyReply,
    items: Items,
    first: Promise<IteratorResult<Sent, undefined>>,
    keepAliveMs: number = KEEP_ALIVE_MS.max,
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
    const stream: Stream = { raw, items, gathered: "", stuckMs: 0 };
    const round = this.#rounds.findLast(({ periodMs }) => periodMs <= keepAliveMs) ?? this.#rounds[0];
    round?.add(stream);
    if (this.#stopping.aborted) void items.return?.();
    void this.#run(stream, first).finally(() => round?.streams.delete(stream));
  }

  async #run(stream: Stream, first: Promise<IteratorResult<Sent, undefined>>): Promise<void> {
    const { raw, items } = stream;
    try {
      await this.#copy(stream, first);
    } catch {
      // The watch has ended, or the reader has: it comes back with its cursor.
    }
    void items.return?.();
    flush(stream);
    if (!raw.destroyed) raw.end(this.#stopping.aborted ? `retry: ${RETRY_MS}\n\n` : "");
  }

  async #copy(stream: Stream, first: Promise<IteratorResult<Sent, undefined>>): Promise<void> {
    const { items } = stream;
    for (let result = await first; result.done !== true; result = await items.next()) {
      const { value } = result;
      await this.#write(stream, isList(value) ? value.map(frame).join("") : frame(value));
      stream.stuckMs = 0;
    }
  }

  /** Resolves when the stream can take more; rejects when the reader is gone. */
  #write(stream: Stream, frames: string): Promise<void> | void {
    const { raw } = stream;
    if (raw.destroyed) throw new Error("the reader disconnected");
    if (stream.gathered === "") this.#flushSoon(stream);
    stream.gathered += frames;
    if (stream.gathered.length >= MAX_GATHERED) flush(stream);
    return raw.writableNeedDrain ? drained(raw) : undefined;
  }

  #flushSoon(stream: Stream): void {
    this.#gathering.push(stream);
    if (this.#gathering.length > 1) return;
    this.#clock.soon(() => {
      const streams = this.#gathering;
      this.#gathering = [];
      for (const each of streams) flush(each);
    });
  }
}

/** Streams with the same keep-alive interval: one timer for all, and a slice of them in each turn of the event loop. */
class KeepAlives {
  readonly periodMs: number;
  readonly streams: Set<Stream> = new Set();
  readonly #clock: Clock;
  #cancelTimer: CancelTimer | null = null;
  #isClosed = false;

  constructor(clock: Clock, periodMs: number) {
    this.#clock = clock;
    this.periodMs = periodMs;
  }

  add(stream: Stream): void {
    this.streams.add(stream);
    this.#cancelTimer ??= this.#clock.after(this.periodMs, () => this.#send([...this.streams], 0));
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelTimer?.();
  }

  #send(streams: readonly Stream[], from: number): void {
    if (this.#isClosed) return;
    const until = Math.min(from + SLICE_STREAMS, streams.length);
    for (const stream of streams.slice(from, until)) this.#sendTo(stream);
    if (until < streams.length) return this.#clock.soon(() => this.#send(streams, until));
    this.#cancelTimer =
      this.streams.size === 0
        ? null
        : this.#clock.after(this.periodMs, () => this.#send([...this.streams], 0));
  }

  #sendTo(stream: Stream): void {
    const { raw } = stream;
    if (raw.destroyed || raw.writableEnded) return;
    stream.stuckMs = raw.writableNeedDrain ? stream.stuckMs + this.periodMs : 0;
    if (stream.stuckMs === 0) raw.write(":\n\n");
    else if (stream.stuckMs >= MAX_STUCK_MS) raw.destroy();
  }
}

function isList(sent: Sent): sent is readonly StreamItem[] {
  return Array.isArray(sent);
}

const frames = new WeakMap<StreamItem, string>();

/** Written once for all streams that get the same item. */
function frame(item: StreamItem): string {
  let text = frames.get(item);
  if (text === undefined) {
    const { event, cursor, partial } = item;
    // The states of many groups share a cursor. Only the last carries it: cut off before, a reader begins again.
    const id = cursor === null || partial === true ? "" : `id: ${cursor}\n`;
    text = `${id}data: ${JSON.stringify(event)}\n\n`;
    frames.set(item, text);
  }
  return text;
}

function flush(stream: Stream): void {
  const { raw, gathered } = stream;
  stream.gathered = "";
  if (gathered === "" || raw.destroyed) return;
  raw.write(gathered);
}

/** Resolves when the stream can take more; rejects when the reader is gone. */
function drained(raw: ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = () => {
      raw.off("drain", done);
      raw.off("close", gone);
      resolve();
    };
    const gone = () => {
      raw.off("drain", done);
      reject(new Error("the reader disconnected"));
    };
    raw.once("drain", done);
    raw.once("close", gone);
  });
}
