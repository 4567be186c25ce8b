import type { FastifyReply } from "fastify";

/**
 * Headers of every answer, for browsers: answers are never scripts, pages or pictures for another site, and are not cached. Pages have
 * a policy of their own.
 */
export const ANSWER_HEADERS = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
} as const;

const ENTRIES = Object.entries(ANSWER_HEADERS);

/** Sets the headers one by one: this runs for every request, and an object of all headers would cost more. */
export function addAnswerHeaders(reply: FastifyReply, requestId: string): void {
  for (const [name, value] of ENTRIES) reply.header(name, value);
  reply.header("x-request-id", requestId);
}
