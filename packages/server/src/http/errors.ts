import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { HTTP_STATUS, ServiceError } from "../service-error.js";

/** Every failure in one shape, in one sentence, without a stack trace. */
export function handleError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const told = tell(error as FastifyError, request);
  if (told === null) {
    request.log.error({ err: error, req_id: request.id }, "a request failed by a fault of this server");
    return reply.code(500).send({
      ok: false,
      error: "INTERNAL",
      message: `this server failed; its log tells more under request id ${request.id}`,
    });
  }
  if (told.retryAfterSeconds !== undefined) reply.header("retry-after", String(told.retryAfterSeconds));
  if (told.code === "UNAUTHENTICATED") reply.header("www-authenticate", "Bearer");
  return reply.code(HTTP_STATUS[told.code]).send(told.reply());
}

export function handleNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const message = `there is no ${request.method} ${request.url.split("?")[0]}; /docs lists what there is`;
  return reply.code(404).send(new ServiceError("NOT_FOUND", message).reply());
}

function tell(error: FastifyError, request: FastifyRequest): ServiceError | null {
  if (error instanceof ServiceError) return error;
  const validation = error.validation?.[0];
  if (validation !== undefined) {
    const field = fieldOf(validation.instancePath, validation.params);
    return new ServiceError(
      "INVALID_REQUEST",
      `${field} ${validation.message ?? "is wrong"}`,
      { field },
      { cause: error },
    );
  }
  if (error.code === "FST_ERR_CTP_BODY_TOO_LARGE") {
    const limit = request.routeOptions.bodyLimit ?? 0;
    return new ServiceError("BODY_TOO_LARGE", `the body is larger than ${limit} bytes`, {}, { cause: error });
  }
  // What Fastify itself refuses of a request: not JSON, no body, a path that cannot be decoded.
  if ((error.statusCode ?? 500) < 500)
    return new ServiceError("INVALID_REQUEST", error.message, {}, { cause: error });
  return null;
}

/** Named as in the request: `policy.min_ttl_ms`, or the key that is unknown or missing. */
function fieldOf(instancePath: string, params: Readonly<Record<string, unknown>>): string {
  const inner = params["additionalProperty"] ?? params["missingProperty"];
  const path = instancePath.split("/").filter((part) => part !== "");
  if (typeof inner === "string") path.push(inner);
  return path.length === 0 ? "body" : path.join(".");
}
