/**
 * Passes a request on to the leader and its answer back, both as they come: nothing is kept in memory. It is sent once:
 * whether a request that broke off was carried out is for its sender to find out.
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
  /** Where to: scheme, host and port, and what comes before the path. */
  readonly base: URL;
  readonly path: string;
  /** The header that says that it was passed on, and by whom. */
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

/** Resolves when all of the answer was passed on, or its receiver is gone; with the failure if there was no answer. */
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
    // What was begun cannot be told otherwise any more than by breaking it off.
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
  // Said outright, for every method: a body without either would end up as the beginning of another request.
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
  // The first error is told by `once`; those that follow it tell nothing new.
  outgoing.on("error", () => {});
  return outgoing;
}

/** The way to the leader, and the time it may take. */
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
