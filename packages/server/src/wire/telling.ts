import { BRIEF, type Telling } from "./codec.js";

const FULL: Telling = { withMetadata: true };

/**
 * `Prefer: leader-metadata` (RFC 7240), a header of HTTP or metadata of gRPC: answers to campaigns and renewals show the metadata of
 * the leader. Only on request, because most callers have no use for it and it may be four kilobytes of every answer.
 */
export function tellingOf(prefer: unknown): Telling {
  return prefer === "leader-metadata" ? FULL : BRIEF;
}
