import type { FastifyReply } from "fastify";

/**
 * What every answer tells a browser: nothing here is a script, a page or a picture of anybody else, and answers about groups
 * are not kept. Pages have a policy of their own.
 */
export const ANSWER_HEADERS = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
} as const;

const ENTRIES = Object.entries(ANSWER_HEADERS);

/** One by one: this is done for every request, and an object of all of them would be made and taken apart again. */
export function addAnswerHeaders(reply: FastifyReply, requestId: string): void {
  for (const [name, value] of ENTRIES) reply.header(name, value);
  reply.header("x-request-id", requestId);
}
