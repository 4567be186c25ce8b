/** What all routes of the peers have in common: they know callers by themselves, and fail in one shape. */
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

/** On a request of the leave that was fanned out already, and of a registration that is a replica. */
export const LEAVE_FANOUT = "x-tenure-tc-leave-fanout";
export const REPLICATE = "x-tenure-tc-replicate";
/** On an announcement that a server sends by itself; without it, it is the wish of an operator. */
export const ANNOUNCED = "x-tenure-tc-announced";

export function isMarked(request: FastifyRequest, header: string): boolean {
  return request.headers[header] === "1";
}

/** What is not even JSON is told as any other wrong body. */
export function tellWireErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const told = asWireError(error as FastifyError);
    if (told === null) {
      request.log.error({ err: error, req_id: request.id }, "a request failed by a fault of this server");
      return reply
        .code(500)
        .send({ error: "internal", detail: `the log tells more under request id ${request.id}` });
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
      "this server's own store does not answer; ask again",
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

/** What the store of this server cannot do now, by the code of its part. */
export async function orUnavailable<T>(
  code: "tc_cluster_unavailable" | "tc_rm_unavailable",
  work: Promise<T>,
): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (!(cause instanceof BackendUnavailableError || cause instanceof ClosedError)) throw cause;
    throw new WireError(code, "this server's own store does not answer; ask again", {}, { cause });
  }
}
