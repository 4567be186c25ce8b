/** One connection's Server-Sent Events. Who is asked next is not decided here. */
import { IncomingMessage } from "node:http";
import { type Clock, isObject, onAbort } from "@tenure/core";
import type { Endpoint } from "./endpoints.js";
import { errorOf, isRefusal, UnexpectedAnswerError } from "./errors.js";
import { openStream, parse } from "./exchange.js";
import { Broken, PAUSE_MS } from "./reconnecting.js";
import { type SseMessage, SseParser } from "./sse-parser.js";
import { brokenBy, type TransportParts } from "./transport.js";

export interface SseRequest {
  readonly parts: TransportParts;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Until the first answer. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The service says something every 15 s. */
const SILENCE_MS = 40_000;

export interface SseEvent {
  readonly id: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Ends by throwing: `Broken`, `NoAnswerError`, the signal's reason or a refusal that every server would repeat. */
export async function* sseConnection(
  request: SseRequest,
  endpoint: Endpoint,
): AsyncGenerator<SseEvent, undefined> {
  const response = await opened(request, endpoint);
  request.parts.endpoints.worked(endpoint);
  for await (const { id, data: text, retryMs } of messages(response, request)) {
    if (retryMs !== null) throw new Broken("the server is stopping", Math.max(retryMs, PAUSE_MS.first));
    if (text === null) continue;
    const data = parse(text);
    if (!isObject(data)) throw new UnexpectedAnswerError(`${endpoint.url.origin} sent what is no event`);
    yield { id, data };
  }
  throw new Broken("the stream has ended");
}

async function opened(given: SseRequest, endpoint: Endpoint): Promise<IncomingMessage> {
  const { parts, method, path, headers, body, timeoutMs, signal } = given;
  const { credentials, tls, clock, connectTimeoutMs } = parts;
  const wait = { timeoutMs, signal };
  let token = await credentials.token(wait);
  for (let hasAskedAgain = false; ; hasAskedAgain = true) {
    const request = {
      method,
      path,
      headers: {
        accept: "text/event-stream",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
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
    if (isRefusal(answer.body)) throw errorOf(answer.body);
    throw new UnexpectedAnswerError(
      `${endpoint.url.origin} answered ${answer.status}, and not with a stream`,
    );
  }
}

/** Ends with the connection, with the signal, and when the server has been silent for too long. */
async function* messages(
  response: IncomingMessage,
  { parts: { clock }, signal }: SseRequest,
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
