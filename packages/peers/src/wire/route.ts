/** What all routes of the peers share: they identify callers themselves, and fail in one format. */
import { BackendUnavailableError, ClosedError, InvalidRequestError } from "@tenure/core";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { WireError } from "./wire-error.js";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The service's own authentication does not apply. */
    readonly ownIdentity?: boolean;
  }
}

export const OWN_IDENTITY = { config: { ownIdentity: true } } as const;

/** Set on a request of a leave that was already sent to all members, and on a registration that is a replica. */
export const LEAVE_FANOUT = "x-tenure-tc-leave-fanout";
export const REPLICATE = "x-tenure-tc-replicate";
/** Set on an announcement that a server sends by itself; without it, the announcement is an operator's request. */
export const ANNOUNCED = "x-tenure-tc-announced";

export function isMarked(request: FastifyRequest, header: string): boolean {
  return request.headers[header] === "1";
}

/** A body that is not JSON is answered like any other wrong body. */
export function tellWireErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const told = asWireError(error as FastifyError);
    if (told === null) {
      request.log.error(
        { err: error, req_id: request.id },
        "request failed because of an error in this server",
      );
      return reply
        .code(500)
        .send({ error: "internal", detail: `see the server's log for request id ${request.id}` });
    }
    if (told.status === 503) reply.header("retry-after", "1");
    return reply.code(told.status).send(told.body());
  });
}

function asWireError(error: FastifyError): WireError | null {
  if (error instanceof WireError) return error;
  if ((error as Error) instanceof InvalidRequestError) {
    return new WireError("invalid_body", error.message, {}, { cause: error });
  }
  if ((error as Error) instanceof BackendUnavailableError || (error as Error) instanceof ClosedError) {
    return new WireError(
      "tc_unavailable",
      "this server's own store does not answer; retry later",
      {},
      { cause: error },
    );
  }
  if ((error.statusCode ?? 500) < 500) {
    return new WireError(
      "invalid_body",
      "the body must be JSON, sent as content-type: application/json",
      {},
      {
        cause: error,
      },
    );
  }
  return null;
}

/** Maps a failure of this server's store to the code of its part. */
export async function orUnavailable<T>(
  code: "tc_cluster_unavailable" | "tc_rm_unavailable",
  work: Promise<T>,
): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (!(cause instanceof BackendUnavailableError || cause instanceof ClosedError)) throw cause;
    throw new WireError(code, "this server's own store does not answer; retry later", {}, { cause });
  }
}
