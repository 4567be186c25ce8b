import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "@tenure/core";
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { invalid, ServiceError } from "../service-error.js";
import { addAnswerHeaders, ANSWER_HEADERS } from "./answer-headers.js";
import { CallerGoneError } from "./request-signals.js";
import { schemaProblem } from "../wire/schema-problem.js";

/** Status of a request whose caller is gone; it is visible in metrics only. */
const CALLER_GONE_STATUS = 499;

/** Messages for callers, instead of those of Fastify for programmers. */
const IN_OUR_WORDS: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: "the body must be JSON, sent as content-type: application/json",
  FST_ERR_BAD_URL: "the path is not validly percent-encoded",
  FST_ERR_MAX_PARAM_LENGTH: "the path names a group_id that is too long",
};

/** Answers every error in the same shape, with one sentence and without a stack trace. */
export function handleError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error instanceof CallerGoneError) return reply.code(CALLER_GONE_STATUS).send();
  const answer = tell(error as FastifyError, request);
  if (answer === null) {
    request.log.error({ err: error, req_id: request.id }, "HTTP request failed: internal error");
    return reply.code(500).send({
      ok: false,
      error: "INTERNAL",
      message: `internal server error; see the server's log for request id ${request.id}`,
    });
  }
  if (answer.retryAfterSeconds !== undefined) reply.header("retry-after", String(answer.retryAfterSeconds));
  if (answer.code === "UNAUTHENTICATED") reply.header("www-authenticate", "Bearer");
  return reply.code(answer.statusCode).send(answer.reply());
}

/** For requests that Fastify refuses before a route was found, and so before any hook. */
export function handleFrameworkError(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  addAnswerHeaders(reply, request.id);
  handleError(error, request, reply);
}

export function handleNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const message = `there is no ${request.method} ${request.url.split("?")[0]}; see /docs for all paths`;
  return reply.code(404).send(new ServiceError("NOT_FOUND", message).reply());
}

/**
 * Answers what is not HTTP, or arrives too slowly, or has too long a head: there is no request to answer. The connection is cut
 * off after `lingerMs`, whatever the client does; at once, it could lose the answer that it has not read yet.
 */
export function clientErrorHandler(
  clock: Clock,
  lingerMs: number,
): (error: NodeJS.ErrnoException, socket: Socket) => void {
  return (error, socket) => {
    if (socket.destroyed) return;
    if (error.code === "ECONNRESET" || !socket.writable) {
      socket.destroy();
      return;
    }
    const cancel = clock.after(lingerMs, () => socket.destroy());
    socket.once("close", cancel);
    socket.end(clientErrorAnswer(error));
  };
}

function clientErrorAnswer(error: NodeJS.ErrnoException): string {
  const [status, message] =
    error.code === "ERR_HTTP_REQUEST_TIMEOUT"
      ? [408, "the request took too long to arrive"]
      : error.code === "HPE_HEADER_OVERFLOW"
        ? [431, "the request line and headers are too long"]
        : [400, "the request is not valid HTTP/1.1"];
  const body = JSON.stringify(new ServiceError("INVALID_REQUEST", message).reply());
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "connection: close",
    "content-type: application/json; charset=utf-8",
    ...Object.entries(ANSWER_HEADERS).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}

function tell(error: FastifyError, request: FastifyRequest): ServiceError | null {
  if (error instanceof ServiceError) return error;
  const refusal = error.validation?.[0];
  if (refusal !== undefined) {
    const { field, problem } = schemaProblem(refusal);
    return invalid(field, problem, { cause: error });
  }
  if (error.code === "FST_ERR_CTP_BODY_TOO_LARGE") {
    const limit = request.routeOptions.bodyLimit ?? 0;
    return new ServiceError("BODY_TOO_LARGE", `the body is larger than ${limit} bytes`, {}, { cause: error });
  }
  // What Fastify itself refuses of a request.
  if ((error.statusCode ?? 500) < 500) {
    const message = IN_OUR_WORDS[error.code] ?? error.message;
    return new ServiceError("INVALID_REQUEST", message, {}, { cause: error });
  }
  return null;
}
