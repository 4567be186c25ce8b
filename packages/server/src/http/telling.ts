import type { FastifyRequest } from "fastify";
import { BRIEF, type Telling } from "../wire/codec.js";

const FULL: Telling = { withMetadata: true };

/**
 * `Prefer: leader-metadata` (RFC 7240): a lost campaign and a renewal show what the leader says of itself. Only on
 * request, because most callers have no use for it and it may be four kilobytes of every answer.
 */
export function tellingOf({ headers }: FastifyRequest): Telling {
  return headers["prefer"] === "leader-metadata" ? FULL : BRIEF;
}
