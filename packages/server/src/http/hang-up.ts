import type { FastifyReply } from "fastify";

/** Aborted when the caller closes the connection before its answer was sent. */
export function hangUpOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) controller.abort(new Error("the caller has hung up"));
  });
  return controller.signal;
}
