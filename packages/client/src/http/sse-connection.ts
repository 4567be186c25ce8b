/** The Server-Sent Events of one connection. The caller chooses the server. */
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
  /** Timeout of the response headers. */
  readonly timeoutMs: number;
  /** How long the stream may be silent. Opening the stream may take no longer than that either. */
  readonly patience: Patience;
  /** Called with `null` when the stream is open or its server was heard again, and with an error when the server is quiet. */
  readonly contact: (error: Error | null) => void;
  readonly signal: AbortSignal;
}

export interface SseEvent {
  readonly id: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Always ends with an error: `Broken`, `NoAnswerError`, the reason of the signal, or a refusal that every server would repeat. */
export async function* sseConnection(
  request: SseRequest,
  endpoint: Endpoint,
): AsyncGenerator<SseEvent, undefined> {
  const stream = await opened(request, endpoint);
  request.parts.endpoints.worked(endpoint);
  request.contact(null);
  for await (const message of messages(stream, request, endpoint)) {
    if (message.kind === "retry") {
      throw new Broken("the server is stopping", Math.max(message.retryMs, PAUSE_MS.first));
    }
    const data = parse(message.data);
    if (!isObject(data)) throw new UnexpectedAnswerError(`${endpoint.url.origin} sent what is no event`);
    yield { id: message.id, data };
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
      // A stream keeps its connection for a long time, so a new connection costs little. A pooled one may be closed already.
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

/** Ends with the connection, when the signal aborts, and when the server has been silent for too long. */
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
      // The time in which the reader handles these messages does not count as silence of the server.
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
