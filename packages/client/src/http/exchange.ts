/** One request to one server over sockets, with its time limits. Which server is asked next is decided elsewhere. */
import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { CancelTimer, Clock } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";
import {
  type Answer,
  type Carrier,
  type ExchangeParts,
  type ExchangeRequest,
  NoAnswerError,
  type OpenedStream,
} from "./carrier.js";
import type { Endpoint } from "./endpoints.js";

/** A larger answer cannot come from a Tenure service. */
const MAX_BYTES = 64 * 1024 * 1024;
const STALE = new Set(["ECONNRESET", "EPIPE"]);

async function exchange(parts: ExchangeParts, request: ExchangeRequest): Promise<Answer> {
  const sending = await Sending.begin(parts, request);
  try {
    return await sending.answer(await sending.head);
  } catch (error) {
    throw sending.failure(error);
  } finally {
    sending.end();
  }
}

async function openStream(
  parts: ExchangeParts,
  request: ExchangeRequest,
  type: string,
): Promise<OpenedStream | Answer> {
  const sending = await Sending.begin(parts, request);
  try {
    const response = await sending.head;
    const isStream =
      response.statusCode === 200 && response.headers["content-type"]?.startsWith(type) === true;
    return isStream ? streamOf(response) : await sending.answer(response);
  } catch (error) {
    throw sending.failure(error);
  } finally {
    sending.end();
  }
}

export const SOCKETS: Carrier = { exchange, openStream };

function streamOf(response: IncomingMessage): OpenedStream {
  return {
    texts: response.setEncoding("utf8") as AsyncIterable<string>,
    close: () => response.destroy(),
  };
}

class Sending {
  readonly head: Promise<IncomingMessage>;
  readonly #request: ClientRequest;
  readonly #undo: (() => void)[] = [];
  #isConnected = false;
  #stop: (reason: unknown) => void = () => {};
  readonly #stopped: Promise<never>;
  #reason: unknown;

  static async begin(parts: ExchangeParts, request: ExchangeRequest): Promise<Sending> {
    const agent = await parts.endpoint.agent(parts.tls, request.fresh === true);
    request.signal?.throwIfAborted();
    return new Sending(parts, request, agent);
  }

  private constructor(
    { endpoint, clock }: ExchangeParts,
    { method, path, headers, body, timeoutMs, connectTimeoutMs, signal }: ExchangeRequest,
    agent: Awaited<ReturnType<Endpoint["agent"]>>,
  ) {
    const { hostname, port } = endpoint.url;
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    this.#request = (endpoint.isTls ? httpsRequest : httpRequest)({
      agent,
      method,
      host: hostname.replace(/^\[(.*)\]$/, "$1"),
      port,
      path: endpoint.prefix + path,
      headers: { ...headers, ...length },
    });
    this.#stopped = new Promise((_, reject) => {
      this.#stop = (reason) => {
        this.#reason ??= reason;
        reject(reason);
        // Closes the connection, so that a campaign that waits at the server leaves its queue.
        this.#request.destroy();
      };
    });
    this.#stopped.catch(() => {});
    const cancelConnect = this.#limit(clock, connectTimeoutMs, () => this.#isConnected, "connection");
    this.#undo.push(
      this.#limit(clock, timeoutMs, () => false, "answer"),
      cancelConnect,
    );
    if (signal !== undefined) this.#undo.push(onAbort(signal, () => this.#stop(signal.reason)));
    this.#request.once("socket", (socket) => {
      const connected = () => {
        this.#isConnected = true;
        cancelConnect();
      };
      if (this.#request.reusedSocket) connected();
      else socket.once(endpoint.isTls ? "secureConnect" : "connect", connected);
    });
    this.head = this.#guard(
      new Promise((resolve, reject) => {
        this.#request.once("response", resolve);
        // Kept for good: an error after the answer must not be uncaught.
        this.#request.on("error", reject);
      }),
    );
    this.head.catch(() => {});
    this.#request.end(body);
  }

  async answer(response: IncomingMessage): Promise<Answer> {
    const text = await this.#guard(textOf(response));
    return { status: response.statusCode ?? 0, retryAfterMs: retryAfterOf(response), body: parse(text) };
  }

  #guard<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#stopped]);
  }

  failure(error: unknown): unknown {
    // An aborted call gets its own reason.
    if (this.#reason !== undefined && !(this.#reason instanceof NoAnswerError)) return this.#reason;
    if (error instanceof NoAnswerError) return error;
    const { message, code } = error as NodeJS.ErrnoException;
    const isStale = this.#request.reusedSocket && STALE.has(code ?? "");
    const isUnsent = !this.#isConnected;
    return new NoAnswerError(
      message || code || "the connection failed",
      { isUnsent, isStale },
      { cause: error },
    );
  }

  end(): void {
    for (const undo of this.#undo) undo();
  }

  #limit(clock: Clock, ms: number, isDone: () => boolean, what: string): CancelTimer {
    let isCancelled = false;
    const cancel = clock.after(ms, () => {
      // After a pause of this process the answer may have arrived but not been read; it counts.
      setImmediate(() => {
        if (isCancelled || isDone()) return;
        const how = { isUnsent: !this.#isConnected, isStale: false };
        this.#stop(new NoAnswerError(`no ${what} within ${Math.round(ms)} ms`, how));
      });
    });
    return () => {
      isCancelled = true;
      cancel();
    };
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Error(`the answer is larger than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

export function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** In seconds; a date would need clocks that agree. */
function retryAfterOf({ headers }: IncomingMessage): number | null {
  const text = headers["retry-after"] ?? "";
  return /^\d{1,6}$/.test(text) ? Number(text) * 1000 : null;
}
