/** One connection's Server-Sent Events. Who is asked next is not decided here. */
import { isObject, onAbort } from "@tenure/core/internal";
import type { Endpoint } from "./endpoints.js";
import { errorOf, isRefusal, UnexpectedAnswerError } from "./errors.js";
import type { OpenedStream } from "./carrier.js";
import { parse } from "./exchange.js";
import type { Patience } from "./patience.js";
import { Broken, PAUSE_MS } from "./reconnecting.js";
import { Silence } from "./silence.js";
import { type SseMessage, SseParser } from "./sse-parser.js";
import { brokenBy, EndpointFailure, type TransportParts, unavailable } from "./transport.js";

export interface SseRequest {
  readonly parts: TransportParts;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Until the first answer. */
  readonly timeoutMs: number;
  /** It has no more time to open the stream than it may be silent. */
  readonly patience: Patience;
  /** The stream is open or was heard again (`null`), or its server is quiet (the error). */
  readonly contact: (error: Error | null) => void;
  readonly signal: AbortSignal;
}

export interface SseEvent {
  readonly id: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Ends by throwing: `Broken`, `NoAnswerError`, the signal's reason or a refusal that every server would repeat. */
export async function* sseConnection(
  request: SseRequest,
  endpoint: Endpoint,
): AsyncGenerator<SseEvent, undefined> {
  const stream = await opened(request, endpoint);
  request.parts.endpoints.worked(endpoint);
  request.contact(null);
  for await (const { id, data: text, retryMs } of messages(stream, request, endpoint)) {
    if (retryMs !== null) throw new Broken("the server is stopping", Math.max(retryMs, PAUSE_MS.first));
    if (text === null) continue;
    const data = parse(text);
    if (!isObject(data)) throw new UnexpectedAnswerError(`${endpoint.url.origin} sent what is no event`);
    yield { id, data };
  }
  throw new Broken("the stream has ended");
}

async function opened(given: SseRequest, endpoint: Endpoint): Promise<OpenedStream> {
  const { parts, method, path, headers, body, patience, signal } = given;
  const timeoutMs = Math.min(given.timeoutMs, patience.silenceMs);
  const { carrier, credentials, tls, clock, connectTimeoutMs } = parts;
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
      connectTimeoutMs: Math.min(connectTimeoutMs, timeoutMs),
      // A stream holds its connection for long: a new one costs nothing, and is not closed already.
      fresh: true,
      signal,
    };
    const answer = await carrier.openStream({ endpoint, tls, clock }, request, "text/event-stream");
    if ("texts" in answer) return answer;
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
  stream: OpenedStream,
  { parts: { clock }, patience, contact, signal }: SseRequest,
  endpoint: Endpoint,
): AsyncGenerator<SseMessage, undefined> {
  const parser = new SseParser();
  const stopListening = onAbort(signal, () => stream.close());
  const problem = `nothing was heard for ${patience.quietMs} ms`;
  const silence = new Silence({
    clock,
    patience,
    quiet: (isQuiet) => contact(isQuiet ? unavailable([new EndpointFailure(endpoint, problem)]) : null),
    tooLong: () => stream.close(),
  });
  try {
    signal.throwIfAborted();
    for await (const text of stream.texts) {
      // While the reader is busy with these, nobody listens; that is not the server's silence.
      silence.break();
      yield* parser.push(text);
      silence.begin();
    }
  } catch (error) {
    signal.throwIfAborted();
    throw new Broken("the connection broke", undefined, { cause: error });
  } finally {
    silence.end();
    stopListening();
    stream.close();
  }
}
