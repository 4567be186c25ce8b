/**
 * Forwards a request to the leader and its answer back, both as streams: nothing is buffered in memory. The request is
 * sent once; whether a request that broke off was carried out is for its sender to find out.
 */
import { once } from "node:events";
import {
  type Agent,
  type ClientRequest,
  type IncomingMessage,
  request as httpRequest,
  type ServerResponse,
} from "node:http";
import { request as httpsRequest } from "node:https";
import { pipeline } from "node:stream/promises";
import type { CancelTimer, Clock } from "@tenure/core";
import { endToEndHeaders } from "./end-to-end-headers.js";

export interface ForwardOptions {
  /** The target: scheme, host, port and path prefix. */
  readonly base: URL;
  readonly path: string;
  /** The header that shows that the request was forwarded, and by which node. */
  readonly mark: readonly [name: string, value: string];
  readonly agent: Agent | false;
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
  /** From the end of the request to the beginning of the answer. */
  readonly responseTimeoutMs: number;
}

/** Why no answer came. */
export interface ForwardFailure {
  /** `unreachable`: nothing was sent. */
  readonly kind: "unreachable" | "silent" | "broken";
  readonly cause: unknown;
}

class SilenceError extends Error {}

/** Resolves when the whole answer was forwarded or its receiver has disconnected; with the failure if there was no answer. */
export async function forwardRequest(
  request: IncomingMessage,
  response: ServerResponse,
  options: ForwardOptions,
): Promise<ForwardFailure | null> {
  const outgoing = open(request, options);
  const leave = () => outgoing.destroy();
  response.once("close", leave);
  const sending = new Sending(outgoing, options);
  try {
    if (hasBody(request)) request.pipe(outgoing);
    else outgoing.end();
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
    sending.end();
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage, endToEndHeaders(answer));
    await pipeline(answer, response);
    return null;
  } catch (cause) {
    request.unpipe(outgoing);
    // An answer that has begun can only be broken off.
    if (response.headersSent || response.destroyed) return null;
    const kind = !sending.isConnected ? "unreachable" : cause instanceof SilenceError ? "silent" : "broken";
    return { kind, cause };
  } finally {
    sending.end();
    response.off("close", leave);
  }
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

function open(request: IncomingMessage, { base, path, mark, agent }: ForwardOptions): ClientRequest {
  const send = base.protocol === "https:" ? httpsRequest : httpRequest;
  // Node has answered `expect` itself.
  const headers = endToEndHeaders(request, ["expect", mark[0].toLowerCase()]);
  if (request.headers.host === undefined) headers.push("host", base.host);
  // Set explicitly for every method: a body without either header would be read as the beginning of another request.
  if (request.headers["transfer-encoding"] !== undefined) headers.push("transfer-encoding", "chunked");
  else if (request.headers["content-length"] === undefined && !/^(?:GET|HEAD)$/.test(request.method ?? "")) {
    headers.push("content-length", "0");
  }
  headers.push(...mark);
  const outgoing = send({
    protocol: base.protocol,
    hostname: base.hostname.replace(/^\[|\]$/g, ""),
    port: base.port,
    method: request.method,
    path,
    headers,
    agent,
  });
  // The first error is handled by `once`; later ones add nothing.
  outgoing.on("error", () => {});
  return outgoing;
}

/** The connection to the leader and its time limits. */
class Sending {
  isConnected = false;
  readonly #timers: CancelTimer[] = [];
  #hasEnded = false;

  constructor(outgoing: ClientRequest, { base, clock, connectTimeoutMs, responseTimeoutMs }: ForwardOptions) {
    const limit = (ms: number, what: string) => {
      const cancel = clock.after(ms, () => outgoing.destroy(new SilenceError(`${what} within ${ms} ms`)));
      this.#timers.push(cancel);
      return cancel;
    };
    const cancelConnect = limit(connectTimeoutMs, "no connection was made");
    const connected = () => {
      this.isConnected = true;
      cancelConnect();
    };
    outgoing.once("socket", (socket) => {
      if (!socket.connecting) return connected();
      socket.once(base.protocol === "https:" ? "secureConnect" : "connect", connected);
    });
    outgoing.once("finish", () => {
      // The answer may begin before the request has ended.
      if (!this.#hasEnded) limit(responseTimeoutMs, "no answer came");
    });
  }

  end(): void {
    this.#hasEnded = true;
    for (const cancel of this.#timers) cancel();
  }
}
