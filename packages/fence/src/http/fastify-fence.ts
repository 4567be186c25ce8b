import type { IncomingHttpHeaders } from "node:http";
import { HttpFence, type HttpFenceOptions } from "./http-fence.js";

export interface FastifyRequestLike {
  readonly headers: IncomingHttpHeaders;
}

export interface FastifyReplyLike {
  code(status: number): unknown;
  headers(values: Record<string, string>): unknown;
  send(body: unknown): unknown;
}

/**
 * A hook for Fastify: `app.addHook("onRequest", fastifyFence({ … }))` for all routes of a plugin, or `onRequest` of one
 * route. It runs before the body is read.
 */
export function fastifyFence<Request extends FastifyRequestLike = FastifyRequestLike>(
  options: HttpFenceOptions<Request>,
): (request: Request, reply: FastifyReplyLike) => Promise<unknown> {
  const fence = new HttpFence<Request>(options);
  return async (request, reply) => {
    const verdict = await fence.judge(request);
    if (verdict.kind === "admitted") return undefined;
    const { status, headers, body } = verdict.refusal;
    reply.code(status);
    reply.headers({ ...headers });
    reply.send(body);
    // Tells Fastify that the answer is given, and that no handler is to run.
    return reply;
  };
}
