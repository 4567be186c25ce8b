/**
 * A watch over whichever servers there are: Server-Sent Events that go on, from the last cursor, after every break.
 *
 * Pulled: a reader that does not ask holds back the connection, not memory. It ends by throwing: the signal's
 * reason, or a refusal that every server would repeat. A server that is gone, silent or stopping is left for another.
 */
import { IncomingMessage } from "node:http";
import { type Clock, isObject, onAbort, sleep, type WatchEvent } from "@tenure/core";
import type { Endpoint } from "./endpoints.js";
import { errorOf, isRefusal, UnexpectedAnswerError } from "./errors.js";
import { NoAnswerError, openStream, parse } from "./exchange.js";
import { type SseMessage, SseParser } from "./sse-parser.js";
import { brokenBy, type TransportParts } from "./transport.js";
import { type EventReply, watchEvent } from "./wire.js";

export interface EventStreamOptions {
  readonly parts: TransportParts;
  readonly random: () => number;
  readonly path: string;
  /** For what a refusal does not repeat. */
  readonly groupId?: string;
  readonly cursor: number | undefined;
  /** Until the first answer of one server. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The service says something every 15 s. */
const SILENCE_MS = 40_000;
/** The pause after a round in which no server would do grows up to this. */
const PAUSE_MS = { first: 100, most: 5000 } as const;

/** Why a connection was given up; another is made. */
class Broken extends Error {
  readonly badForMs: number | undefined;

  constructor(message: string, badForMs?: number, options?: ErrorOptions) {
    super(message, options);
    this.badForMs = badForMs;
  }
}

export async function* eventStream(options: EventStreamOptions): AsyncGenerator<WatchEvent, undefined> {
  const { parts, random, signal } = options;
  let cursor = options.cursor;
  let pauseMs: number = PAUSE_MS.first;
  for (;;) {
    let askedMs = 0;
    for (const endpoint of parts.endpoints.inOrder()) {
      try {
        for await (const events of connection(options, endpoint, cursor)) {
          pauseMs = PAUSE_MS.first;
          cursor = events.at(-1)?.cursor ?? cursor;
          yield* events;
        }
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof Broken || error instanceof NoAnswerError)) throw error;
        const badForMs = error instanceof Broken ? error.badForMs : undefined;
        parts.endpoints.failed(endpoint, badForMs);
        askedMs = Math.max(askedMs, badForMs ?? 0);
        // Whichever is best now, not the one after the best of a while ago.
        if (parts.endpoints.restMs() === 0) break;
      }
    }
    if (parts.endpoints.restMs() === 0) continue;
    await sleep(parts.clock, Math.max(askedMs, pauseMs * (1 - random() / 2)), signal);
    pauseMs = Math.min(2 * pauseMs, PAUSE_MS.most);
  }
}

/**
 * What one connection brings. The states of many groups share a cursor that only the last of them carries: they are
 * told together, or not at all.
 */
async function* connection(
  options: EventStreamOptions,
  endpoint: Endpoint,
  cursor: number | undefined,
): AsyncGenerator<readonly WatchEvent[], undefined> {
  const response = await opened(options, endpoint, cursor);
  options.parts.endpoints.worked(endpoint);
  let replies: EventReply[] = [];
  for await (const { id, data, retryMs } of messages(response, options)) {
    if (retryMs !== null) throw new Broken("the server is stopping", Math.max(retryMs, PAUSE_MS.first));
    if (data === null) continue;
    const reply = parse(data);
    if (!isObject(reply)) throw new UnexpectedAnswerError(`${endpoint.url.origin} sent what is no event`);
    replies.push(reply as unknown as EventReply);
    if (id === null) continue;
    const shared = Number(id);
    yield replies.map((each) => watchEvent(each, shared));
    replies = [];
  }
  throw new Broken("the stream has ended");
}

async function opened(
  { parts, path, timeoutMs, groupId, signal }: EventStreamOptions,
  endpoint: Endpoint,
  cursor: number | undefined,
): Promise<IncomingMessage> {
  const { credentials, tls, clock, connectTimeoutMs } = parts;
  const wait = { timeoutMs, signal };
  let token = await credentials.token(wait);
  for (let hasAskedAgain = false; ; hasAskedAgain = true) {
    const request = {
      method: "GET",
      path,
      headers: {
        accept: "text/event-stream",
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(cursor === undefined ? {} : { "last-event-id": String(cursor) }),
      },
      timeoutMs,
      connectTimeoutMs,
      // A stream holds its connection for long: a new one costs nothing, and is not closed already.
      fresh: true,
      signal,
    };
    const answer = await openStream({ endpoint, tls, clock }, request, "text/event-stream");
    if (answer instanceof IncomingMessage) return answer;
    if (answer.status === 401 && !hasAskedAgain) {
      const another = await credentials.anotherThan(token, wait);
      if (another !== null) {
        token = another;
        continue;
      }
    }
    const problem = answer.status === 429 ? "too many at once" : brokenBy(answer);
    if (problem !== null) throw new Broken(problem, answer.retryAfterMs || undefined);
    if (isRefusal(answer.body)) throw errorOf(answer.body, groupId === undefined ? {} : { groupId });
    throw new UnexpectedAnswerError(
      `${endpoint.url.origin} answered ${answer.status}, and not with a stream`,
    );
  }
}

/** Ends with the connection, with the signal, and when the server has been silent for too long. */
async function* messages(
  response: IncomingMessage,
  { parts: { clock }, signal }: EventStreamOptions,
): AsyncGenerator<SseMessage, undefined> {
  const parser = new SseParser();
  const stopListening = onAbort(signal, () => response.destroy());
  const silence = new Silence(clock, () => response.destroy());
  try {
    signal.throwIfAborted();
    for await (const text of response.setEncoding("utf8") as AsyncIterable<string>) {
      // While the reader is busy with these, nobody listens; that is not the server's silence.
      silence.end();
      yield* parser.push(text);
      silence.begin();
    }
  } catch (error) {
    signal.throwIfAborted();
    throw new Broken("the connection broke", undefined, { cause: error });
  } finally {
    silence.end();
    stopListening();
    response.destroy();
  }
}

class Silence {
  readonly #clock: Clock;
  readonly #tooLong: () => void;
  #cancel = (): void => {};

  constructor(clock: Clock, tooLong: () => void) {
    this.#clock = clock;
    this.#tooLong = tooLong;
    this.begin();
  }

  begin(): void {
    this.#cancel = this.#clock.after(SILENCE_MS, this.#tooLong);
  }

  end(): void {
    this.#cancel();
  }
}
